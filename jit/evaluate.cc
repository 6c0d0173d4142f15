#include "jit/evaluate.h"

#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "jit/region_op.h"
#include "jit/text.h"
#include "jit/uses.h"
#include "ops/boxed_call.h"
#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::jit {
namespace {

thread_local constinit bool without_changes = false;

// What an operation that changes a tensor gives where it changes nothing.
void PassOn(const Operation& o, Environment& env) {
  for (const auto& ids : o.results) {
    for (ValueId id : ids) env[id] = env[std::get<ValueRef>(o.args[0]).id];
  }
}

// Of a call with attributes that are values of the program, the recorder could
// only conclude what holds for the numbers that it tried (late_call.h). What
// was recorded behind the call relies on it.
void CheckResultsOfLateCall(const Program& program, const Operation& o,
                            const Environment& env) {
  ForEachResult(o, [&](ValueId id) {
    const TensorMeta& m = program.value(id).meta;
    const Tensor& t = env[id];
    bool fits = t.dtype() == m.dtype && t.rank() == m.shape.rank();
    for (int d = 0; fits && d < t.rank(); ++d) {
      fits = IsUnknown(m.shape[d]) || IsUnknown(t.shape()[d]) ||
             t.shape()[d] == m.shape[d];
    }
    PROA_REQUIRE(fits, o.op->name, ": gives ", Describe(t),
                 " for a number that is a value of the program; when it was "
                 "recorded ",
                 ToString(m.shape), " was foreseen; give the number itself");
  });
}

void GiveList(const Operation& o, const PreparedBlock::Give& give,
              Environment& env) {
  auto& list = std::get<std::vector<Tensor>>(*give.value);
  const std::vector<ValueId>& ids = o.results[give.list];
  PROA_REQUIRE(list.size() == ids.size(), o.op->name, ": gave ", list.size(),
               " tensors; ", ids.size(), " were recorded");
  for (size_t i = 0; i < ids.size(); ++i) env[ids[i]] = std::move(list[i]);
}

void Call(const PreparedBlock::Step& step, PreparedBlock& block,
          Environment& env) {
  const std::span takes(block.takes.data() + step.takes.begin,
                        step.takes.size());
  for (const PreparedBlock::Take& take : takes) {
    if (take.last) {
      *take.place = std::move(env[take.id]);
    } else {
      *take.place = env[take.id];
    }
  }
  const Operation& o = *step.operation;
  const std::span<const Value> args(block.values.data() + step.args.begin,
                                    step.args.size());
  const std::span<Value> results(block.values.data() + step.results.begin,
                                 step.results.size());
  if (step.late) [[unlikely]] {
    CallBoxed(*o.op, args, results);
  } else {
    o.op->call(args, results);
  }
  for (uint32_t i = step.gives.begin; i < step.gives.end; ++i) {
    const PreparedBlock::Give& give = block.gives[i];
    if (give.list >= 0) {
      GiveList(o, give, env);
    } else {
      env[give.id] = std::move(std::get<Tensor>(*give.value));
    }
  }
  for (const PreparedBlock::Take& take : takes) *take.place = Tensor();
}

PreparedBlock& PreparedIn(Environment& env, const Program& program,
                          const Block& block, const ReleasePlan* release) {
  std::shared_ptr<PreparedBlock>& prepared = env.prepared(block);
  if (prepared == nullptr) {
    prepared =
        std::make_shared<PreparedBlock>(Prepare(program, block, release));
  }
  return *prepared;
}

}  // namespace

Environment MakeEnvironment(const Program& program) {
  Environment env(program.values().size());
  for (size_t i = 0; i < env.size(); ++i) {
    const ValueInfo& v = program.values()[i];
    if (v.kind == ValueKind::kCaptured) env[i] = v.captured;
  }
  return env;
}

void Evaluate(const Program& program, const Block& block, Environment& env,
              const ReleasePlan* release) {
  PreparedBlock& prepared = PreparedIn(env, program, block, release);
  for (const PreparedBlock::Step& step : prepared.steps) {
    const Operation& o = *step.operation;
    CheckInterrupt();
    try {
      if (o.op->regions != nullptr) {
        o.op->regions->evaluate(program, o, env);
      } else if (without_changes && ((o.op->traits & kTraitInplace) != 0 ||
                                     o.op->outputs.empty())) {
        PassOn(o, env);
      } else {
        Call(step, prepared, env);
        if (step.late) CheckResultsOfLateCall(program, o, env);
      }
    } catch (const Error& e) {
      e.ThrowWith(absl::StrCat("  in the program: ", OperationText(program, o),
                               o.where != nullptr ? "\n  recorded: " : "",
                               o.where != nullptr ? o.where : ""));
    }
    for (uint32_t i = step.releases.begin; i < step.releases.end; ++i) {
      env[prepared.releases[i]] = Tensor();
    }
  }
}

WithoutChanges::WithoutChanges()
    : before_(std::exchange(without_changes, true)) {}

WithoutChanges::~WithoutChanges() { without_changes = before_; }

std::vector<Tensor> EvaluateRegion(const Program& program, const Block& region,
                                   std::vector<Tensor> arguments,
                                   Environment& env) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    env[region.arguments[i]] = std::move(arguments[i]);
  }
  Evaluate(program, region, env);
  std::vector<Tensor> out;
  out.reserve(region.returns.size());
  for (ValueId id : region.returns) out.push_back(env[id]);
  return out;
}

}  // namespace proa::inline v0::jit
