// `cond`: one of two regions, by a predicate.
#include "jit/control_flow.h"
#include "jit/evaluate.h"
#include "jit/recorder.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {

constinit ControlFlowGrad control_flow_grad;

namespace {

constexpr const char* kRegions[] = {"then", "otherwise"};
const ParamInfo kParams[] = {
    {"predicate", ParamType::kTensor, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

absl::Status Counts(const Operation& o, std::span<RegionCounts> out) {
  out[0] = out[1] = {0, o.results[0].size()};
  return absl::OkStatus();
}

void EvaluateCond(const Program& program, const Operation& o,
                  Environment& env) {
  const auto then = RegionFunction(program, *o.regions[0], env);
  const auto otherwise = RegionFunction(program, *o.regions[1], env);
  StoreList(o,
            Cond(
                TensorArgument(o, 0, env), [&] { return then({}); },
                [&] { return otherwise({}); }),
            env);
}

const RegionRules rules = {kRegions, &Counts, &EvaluateCond,
                           /*differentiated=*/true};
const OpDefinition definition = RegionOp(
    "cond", "cond(Tensor predicate) {then} {otherwise} -> Tensor[] out",
    "What the first region gives where the predicate holds, else what "
    "the second gives. Both give as many tensors, of equal dtypes and "
    "ranks.",
    kParams, kOutputs, &rules);

const OpDefinition* const kDefinitions[] = {&definition};
const OpRegistration registration(kDefinitions);

TensorList RecordCond(const Tensor& predicate,
                      const std::function<TensorList()>& then,
                      const std::function<TensorList()>& otherwise) {
  RegionRecorder recorder(definition, SymbolOf(predicate).program());
  recorder.Argument(predicate);
  const TensorList a =
      recorder.Region({}, [&](const TensorList&) { return then(); });
  const TensorList b =
      recorder.Region({}, [&](const TensorList&) { return otherwise(); });
  PROA_REQUIRE(a.size() == b.size(), "cond: one way gives ", a.size(),
               " tensors, the other ", b.size());
  std::vector<TensorMeta> metas;
  for (size_t i = 0; i < a.size(); ++i) {
    metas.push_back(Join("cond", i, MetaOf(a[i]), MetaOf(b[i])));
  }
  return recorder.Finish(metas, control_flow_grad.cond);
}

}  // namespace

TensorList Cond(const Tensor& predicate,
                const std::function<TensorList()>& then,
                const std::function<TensorList()>& otherwise) {
  CheckPredicate("cond", predicate);
  if (predicate.is_symbolic()) return RecordCond(predicate, then, otherwise);
  return predicate.item<bool>() ? then() : otherwise();
}

}  // namespace proa::inline v0::jit
