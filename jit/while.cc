// `while`: a region repeated as long as another one says so.
#include "absl/strings/str_cat.h"
#include "jit/control_flow.h"
#include "jit/evaluate.h"
#include "jit/recorder.h"
#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::jit {
namespace {

constexpr const char* kRegions[] = {"condition", "body"};
const ParamInfo kParams[] = {
    {"vars", ParamType::kTensorList, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

absl::Status Counts(const Operation& o, std::span<RegionCounts> out) {
  const size_t n = std::get<std::vector<ValueRef>>(o.args[0]).size();
  if (o.results[0].size() != n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", n, " variables and ", o.results[0].size(), " results"));
  }
  out[0] = {n, 1};
  out[1] = {n, n};
  return absl::OkStatus();
}

void EvaluateWhile(const Program& program, const Operation& o,
                   Environment& env) {
  const auto condition = RegionFunction(program, *o.regions[0], env);
  StoreList(o,
            WhileLoop([&](const TensorList& v) { return condition(v)[0]; },
                      RegionFunction(program, *o.regions[1], env),
                      ListArgument(o, 0, env)),
            env);
}

const RegionRules rules = {kRegions, &Counts, &EvaluateWhile,
                           /*differentiated=*/true};
const OpDefinition definition =
    RegionOp("while", "while(Tensor[] vars) {condition} {body} -> Tensor[] out",
             "Repeats vars = body(vars) while condition(vars) holds. The body "
             "keeps number, dtypes and ranks.",
             kParams, kOutputs, &rules);

const OpDefinition* const kDefinitions[] = {&definition};
const OpRegistration registration(kDefinitions);

TensorList RecordLoop(const std::shared_ptr<Program>& program,
                      const std::function<Tensor(const TensorList&)>& condition,
                      const std::function<TensorList(TensorList)>& body,
                      const TensorList& vars) {
  std::vector<TensorMeta> metas;
  for (const Tensor& t : vars) metas.push_back(MetaOf(t));
  // A dim that the body changes becomes unknown, which may change others:
  // repeat until it settles (each turn makes at least one dim unknown).
  while (true) {
    RegionRecorder recorder(definition, program);
    recorder.Region(metas, [&](const TensorList& v) {
      const Tensor go_on = condition(v);
      CheckPredicate("while_loop", go_on);
      return TensorList{go_on};
    });
    const TensorList results = recorder.Region(metas, body);
    PROA_REQUIRE(results.size() == metas.size(), "while_loop: body gives ",
                 results.size(), " tensors for ", metas.size(), " variables");
    bool settled = true;
    for (size_t i = 0; i < metas.size(); ++i) {
      TensorMeta joined = Join("while_loop", i, metas[i], MetaOf(results[i]));
      settled &= joined.shape == metas[i].shape;
      metas[i] = std::move(joined);
    }
    if (!settled) continue;
    recorder.Argument(std::span(vars));
    return recorder.Finish(metas, control_flow_grad.loop);
  }
}

}  // namespace

TensorList WhileLoop(const std::function<Tensor(const TensorList&)>& condition,
                     const std::function<TensorList(TensorList)>& body,
                     TensorList vars) {
  CheckDefined("while_loop", vars);
  for (const Tensor& t : vars) {
    if (t.is_symbolic()) {
      return RecordLoop(SymbolOf(t).program(), condition, body, vars);
    }
  }
  while (true) {
    CheckInterrupt();
    const Tensor go_on = condition(vars);
    CheckPredicate("while_loop", go_on);
    if (go_on.is_symbolic()) {
      return RecordLoop(SymbolOf(go_on).program(), condition, body, vars);
    }
    if (!go_on.item<bool>()) return vars;
    const size_t count = vars.size();
    vars = body(std::move(vars));
    PROA_REQUIRE(vars.size() == count, "while_loop: body gives ", vars.size(),
                 " tensors for ", count, " variables");
  }
}

}  // namespace proa::inline v0::jit
