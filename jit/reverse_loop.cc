// `reverse_loop`: a loop and its turns again in reverse. The variables of each
// turn are kept while it runs, whatever their shapes.
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/control_flow.h"
#include "jit/evaluate.h"
#include "jit/random_state.h"
#include "jit/recorder.h"
#include "tensor/error.h"
#include "tensor/generator.h"
#include "tensor/interrupt.h"
#include "tensor/place.h"

namespace proa::inline v0::jit {
namespace {

constexpr const char* kRegions[] = {"condition", "body", "turn"};
const ParamInfo kParams[] = {
    {"vars", ParamType::kTensorList, false, nullptr, nullptr},
    {"carried", ParamType::kTensorList, false, nullptr, nullptr},
    {"random_state", ParamType::kTensor, true, "none",
     +[] { return Value(); }}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

absl::Status Counts(const Operation& o, std::span<RegionCounts> out) {
  const size_t n = std::get<std::vector<ValueRef>>(o.args[0]).size();
  const size_t carried = std::get<std::vector<ValueRef>>(o.args[1]).size();
  if (o.results[0].size() != carried) {
    return absl::InvalidArgumentError(
        absl::StrCat("carries ", carried, " tensors and has ",
                     o.results[0].size(), " results"));
  }
  out[0] = {n, 1};
  out[1] = {n, n};
  out[2] = {n + carried, carried};
  return absl::OkStatus();
}

void EvaluateReverse(const Program& program, const Operation& o,
                     Environment& env) {
  const auto condition = RegionFunction(program, *o.regions[0], env);
  StoreList(o,
            ReverseLoop({[&](const TensorList& v) { return condition(v)[0]; },
                         RegionFunction(program, *o.regions[1], env),
                         RegionFunction(program, *o.regions[2], env),
                         ListArgument(o, 0, env), ListArgument(o, 1, env),
                         TensorArgument(o, 2, env)}),
            env);
}

const RegionRules rules = {kRegions, &Counts, &EvaluateReverse};
const OpDefinition definition = RegionOp(
    "reverse_loop",
    "reverse_loop(Tensor[] vars, Tensor[] carried, Tensor? random_state=none) "
    "{condition} {body} {turn} -> Tensor[] out",
    "Runs a loop, then carried = turn(vars of the turn, carried) for its turns "
    "in reverse; the backward pass of `while`.",
    kParams, kOutputs, &rules);

const OpDefinition* const kDefinitions[] = {&definition};
const OpRegistration registration(kDefinitions);

TensorList Joined(TensorList a, const TensorList& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<TensorMeta> Metas(const TensorList& ts) {
  std::vector<TensorMeta> metas;
  for (const Tensor& t : ts) metas.push_back(MetaOf(t));
  return metas;
}

// Makes dims unknown that differ; false if there were some.
bool Settle(std::span<TensorMeta> metas, const TensorList& results) {
  PROA_REQUIRE(results.size() == metas.size(), "reverse_loop: a region gives ",
               results.size(), " tensors for ", metas.size());
  bool settled = true;
  for (size_t i = 0; i < metas.size(); ++i) {
    TensorMeta joined = Join("reverse_loop", i, metas[i], MetaOf(results[i]));
    settled &= joined.shape == metas[i].shape;
    metas[i] = std::move(joined);
  }
  return settled;
}

TensorList Record(const std::shared_ptr<Program>& program,
                  const ReversedLoop& loop) {
  std::vector<TensorMeta> metas = Metas(Joined(loop.vars, loop.carried));
  const std::span<TensorMeta> vars = std::span(metas).first(loop.vars.size());
  const std::span<TensorMeta> carried =
      std::span(metas).subspan(loop.vars.size());
  while (true) {
    RegionRecorder recorder(definition, program);
    recorder.Region(vars, [&](const TensorList& v) {
      return TensorList{loop.condition(v)};
    });
    bool settled = Settle(vars, recorder.Region(vars, loop.body));
    if (settled) {
      settled = Settle(carried, recorder.Region(metas, loop.turn));
    }
    if (!settled) continue;
    recorder.Argument(std::span(loop.vars));
    recorder.Argument(std::span(loop.carried));
    recorder.Argument(loop.random_state);
    return recorder.Finish(carried, control_flow_grad.none);
  }
}

std::shared_ptr<Program> ProgramOf(const ReversedLoop& loop) {
  for (const Tensor& t :
       Joined(Joined(loop.vars, loop.carried), {loop.random_state})) {
    if (t.defined() && t.is_symbolic()) return SymbolOf(t).program();
  }
  return nullptr;
}

}  // namespace

TensorList ReverseLoop(const ReversedLoop& loop) {
  if (const auto program = ProgramOf(loop)) return Record(program, loop);
  Generator& generator = DefaultGenerator(Place{});
  const RandomStateScope scope(loop.random_state);
  std::vector<TensorList> seen;
  std::vector<GeneratorState> states;
  TensorList now = loop.vars;
  while (true) {
    CheckInterrupt();
    const Tensor go_on = loop.condition(now);
    CheckPredicate("while_loop", go_on);
    if (!go_on.item<bool>()) break;
    seen.push_back(now);
    states.push_back(generator.state());
    now = loop.body(now);
  }
  TensorList carried = loop.carried;
  while (!seen.empty()) {
    CheckInterrupt();
    if (loop.random_state.defined()) generator.set_state(states.back());
    carried = loop.turn(Joined(std::move(seen.back()), carried));
    seen.pop_back();
    states.pop_back();
  }
  return carried;
}

}  // namespace proa::inline v0::jit
