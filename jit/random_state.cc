#include "jit/random_state.h"

#include <bit>

#include "jit/control_flow.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "tensor/error.h"
#include "tensor/place.h"

namespace proa::inline v0::jit {
namespace {

Generator& TheGenerator() { return DefaultGenerator(Place{}); }

Tensor ToTensor(const GeneratorState& state) {
  Tensor t = Tensor::Empty({2}, DType::kInt64);
  t.data<int64_t>()[0] = std::bit_cast<int64_t>(state.seed);
  t.data<int64_t>()[1] = std::bit_cast<int64_t>(state.offset);
  return t;
}

GeneratorState ToState(const Tensor& t) {
  PROA_REQUIRE(t.dtype() == DType::kInt64 && t.shape() == Shape({2}) &&
                   t.is_contiguous(),
               "with_random_state: state is ", Describe(t),
               "; expected what random_state gives, [2] int64");
  return {std::bit_cast<uint64_t>(t.data<int64_t>()[0]),
          std::bit_cast<uint64_t>(t.data<int64_t>()[1])};
}

// random_state ----------------------------------------------------------------

absl::Status NoRegions(const Operation&, std::span<RegionCounts>) {
  return absl::OkStatus();
}

void EvaluateState(const Program&, const Operation& o, Environment& env) {
  // While another program is recorded: the state when that one runs.
  const std::shared_ptr<Program> recorded = StaticProgram();
  env[o.results[0][0]] = recorded != nullptr ? RecordRandomState(recorded)
                                             : ToTensor(TheGenerator().state());
}

const RegionRules state_rules = {{}, &NoRegions, &EvaluateState};
constexpr OutputInfo kStateOutputs[] = {{"state", false}};
const OpDefinition state_definition = [] {
  OpDefinition op = RegionOp("random_state", "random_state() -> Tensor state",
                             "The state of the default generator, [2] int64.",
                             {}, kStateOutputs, &state_rules);
  op.traits = kTraitRandom;
  return op;
}();

// with_random_state -----------------------------------------------------------

constexpr const char* kWithRegions[] = {"body"};
const ParamInfo kWithParams[] = {
    {"state", ParamType::kTensor, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

absl::Status WithCounts(const Operation& o, std::span<RegionCounts> out) {
  out[0] = {0, o.results[0].size()};
  return absl::OkStatus();
}

void EvaluateWith(const Program& program, const Operation& o,
                  Environment& env) {
  const auto body = RegionFunction(program, *o.regions[0], env);
  StoreList(
      o, WithRandomState(TensorArgument(o, 0, env), [&] { return body({}); }),
      env);
}

const RegionRules with_rules = {kWithRegions, &WithCounts, &EvaluateWith};
const OpDefinition with_definition = RegionOp(
    "with_random_state",
    "with_random_state(Tensor state) {body} -> Tensor[] out",
    "What its region gives when it draws from a state; later draws are not "
    "changed by it.",
    kWithParams, kOutputs, &with_rules);

const OpDefinition* const kDefinitions[] = {&state_definition,
                                            &with_definition};
const OpRegistration registration(kDefinitions);

}  // namespace

Tensor RecordRandomState(const std::shared_ptr<Program>& program) {
  Operation operation;
  operation.op = &state_definition;
  const ValueId id = program->AddValue(
      ValueKind::kResult, TensorMeta{Shape({2}), DType::kInt64, Place{}});
  operation.results = {{id}};
  CurrentBlock(*program).operations.push_back(std::move(operation));
  return MakeSymbolic(program, id);
}

TensorList WithRandomState(const Tensor& state,
                           const std::function<TensorList()>& f) {
  if (!state.is_symbolic()) {
    const RandomStateScope scope(state);
    return f();
  }
  RegionRecorder recorder(with_definition, SymbolOf(state).program());
  recorder.Argument(state);
  std::vector<TensorMeta> metas;
  for (const Tensor& t :
       recorder.Region({}, [&](const TensorList&) { return f(); })) {
    metas.push_back(MetaOf(t));
  }
  return recorder.Finish(metas, control_flow_grad.none);
}

RandomStateScope::RandomStateScope(const Tensor& state) {
  if (!state.defined()) return;
  const GeneratorState now = ToState(state);
  before_ = TheGenerator().state();
  TheGenerator().set_state(now);
}

RandomStateScope::~RandomStateScope() {
  if (before_.has_value()) TheGenerator().set_state(*before_);
}

}  // namespace proa::inline v0::jit
