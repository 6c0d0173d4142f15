// `custom_gradient`: values, with a backward of their own.
#include <algorithm>

#include "jit/control_flow.h"
#include "jit/evaluate.h"
#include "jit/recorder.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

constexpr const char* kRegions[] = {"backward"};
const ParamInfo kParams[] = {
    {"outputs", ParamType::kTensorList, false, nullptr, nullptr},
    {"inputs", ParamType::kTensorList, false, nullptr, nullptr},
    {"seen", ParamType::kTensorList, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

absl::Status Counts(const Operation& o, std::span<RegionCounts> out) {
  const auto count = [&](size_t i) {
    return std::get<std::vector<ValueRef>>(o.args[i]).size();
  };
  if (count(0) != o.results[0].size()) {
    return absl::InvalidArgumentError(
        "custom_gradient gives as many tensors as it has outputs");
  }
  if (count(1) != count(2)) {
    return absl::InvalidArgumentError(
        "custom_gradient has as many inputs as it has seen");
  }
  out[0] = {count(0), count(1)};
  return absl::OkStatus();
}

void EvaluateCustomGradient(const Program& program, const Operation& o,
                            Environment& env) {
  const TensorList outputs = ListArgument(o, 0, env);
  const TensorList inputs = ListArgument(o, 1, env);
  const auto is_symbolic = [](const Tensor& t) { return t.is_symbolic(); };
  if (std::ranges::any_of(outputs, is_symbolic)) {
    return StoreList(
        o,
        CustomGradient(outputs, inputs, ListArgument(o, 2, env),
                       RegionFunction(program, *o.regions[0], env)),
        env);
  }
  TensorList results;
  for (const Tensor& t : outputs) results.push_back(t.Alias());
  if (control_flow_grad.custom_now != nullptr && GradEnabled()) {
    control_flow_grad.custom_now(program, o, env, inputs, results);
  }
  StoreList(o, std::move(results), env);
}

const RegionRules rules = {kRegions, &Counts, &EvaluateCustomGradient};
const OpDefinition definition = RegionOp(
    "custom_gradient",
    "custom_gradient(Tensor[] outputs, Tensor[] inputs, Tensor[] seen) "
    "{backward} -> Tensor[] out",
    "The outputs as they are. The gradients of the inputs are what the region "
    "makes of those of the outputs; what it reads of `seen` are the inputs.",
    kParams, kOutputs, &rules);

const OpDefinition* const kDefinitions[] = {&definition};
const OpRegistration registration(kDefinitions);

}  // namespace

TensorList CustomGradient(
    const TensorList& outputs, const TensorList& inputs, const TensorList& seen,
    const std::function<TensorList(const TensorList&)>& backward) {
  const auto symbolic = std::ranges::find_if(
      outputs, [](const Tensor& t) { return t.is_symbolic(); });
  PROA_REQUIRE(symbolic != outputs.end(),
               "custom_gradient: no output is a value of a program");
  RegionRecorder recorder(definition, SymbolOf(*symbolic).program());
  recorder.Argument(std::span<const Tensor>(outputs));
  recorder.Argument(std::span<const Tensor>(inputs));
  recorder.Argument(std::span<const Tensor>(seen));
  std::vector<TensorMeta> metas;
  for (const Tensor& t : outputs) metas.push_back(MetaOf(t));
  recorder.Region(metas, [&](const TensorList& grads) {
    TensorList found = backward(grads);
    PROA_REQUIRE(found.size() == inputs.size(),
                 "custom_gradient: backward gave ", found.size(),
                 " gradients for ", inputs.size(), " inputs");
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined()) found[i] = ZerosLike(inputs[i]);
    }
    return found;
  });
  return recorder.Finish(metas, control_flow_grad.custom);
}

}  // namespace proa::inline v0::jit
