#include "jit/evaluate.h"

#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/region_op.h"
#include "jit/text.h"
#include "jit/uses.h"
#include "ops/boxed_call.h"
#include "ops/collective/collective.h"
#include "ops/observers.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::jit {
namespace {

thread_local constinit bool without_changes = false;
thread_local constinit Watch* watching = nullptr;

[[noreturn]] void ThrowFor(const Program& program, const Operation& o,
                           const Error& e) {
  e.ThrowWith(absl::StrCat("  in the program: ", OperationText(program, o),
                           o.where != nullptr ? "\n  recorded: " : "",
                           o.where != nullptr ? o.where : ""));
}

// What an operation that changes a tensor gives where it changes nothing.
void PassOn(const Operation& o, Environment& env) {
  for (const auto& ids : o.results) {
    for (ValueId id : ids) env[id] = env[std::get<ValueRef>(o.args[0]).id];
  }
}

// Whether it gives nothing: a write, an update.
bool OnlyChanges(const OpDefinition& op) {
  return op.changes != 0 && op.outputs.empty();
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
  } else if (OnlyChanges(*o.op)) {
    // Whether it may change what requires grad was asked when it was recorded,
    // where `no_grad` was on or not; here nothing tells.
    const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);
    const GivenScope given(*o.op, args);
    o.op->call(args, results);
  } else {
    const GivenScope given(*o.op, args);
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

// Collectives that have begun, and what waits for them.
class Exchanges {
 public:
  explicit Exchanges(const Program& program) : program_(program) {}

  // Runs the step, a collective, as far as its beginning.
  void Begin(const PreparedBlock::Step& step, PreparedBlock& block,
             Environment& env) {
    Running r{step.operation};
    for (uint32_t i = step.takes.begin; i < step.takes.end; ++i) {
      r.reads.push_back(env[block.takes[i].id].storage().get());
    }
    {
      CollectiveLater later;
      Call(step, block, env);
      r.work = later.Take();
    }
    if (r.work != nullptr) running_.push_back(std::move(r));
  }

  // Before a step is taken: what it reads is there, and what it changes has
  // been read. Others run on.
  void WaitFor(const PreparedBlock::Step& step, const PreparedBlock& block,
               Environment& env) {
    const Operation& o = *step.operation;
    // What a region reads is not listed.
    if (o.op->regions != nullptr) return WaitForAll();
    const bool changes = o.op->changes != 0 && !step.beside;
    for (size_t k = 0; k < running_.size();) {
      bool needed = false;
      for (uint32_t i = step.takes.begin; i < step.takes.end && !needed; ++i) {
        const ValueId id = block.takes[i].id;
        ForEachResult(*running_[k].operation,
                      [&](ValueId made) { needed |= made == id; });
        if (!changes || !env[id].defined()) continue;
        const Storage* const storage = env[id].storage().get();
        for (const Storage* read : running_[k].reads) {
          needed |= read == storage;
        }
      }
      if (needed) {
        Wait(k);
      } else {
        ++k;
      }
    }
  }
  void WaitForAll() {
    while (!running_.empty()) Wait(0);
  }
  bool empty() const { return running_.empty(); }

 private:
  struct Running {
    const Operation* operation;
    std::vector<const Storage*> reads;
    std::shared_ptr<LateCollective> work = nullptr;
  };

  // Its error is that of the collective, whoever asks for the result.
  void Wait(size_t k) {
    const Running r = std::move(running_[k]);
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(k));
    try {
      r.work->Wait();
    } catch (const Error& e) {
      ThrowFor(program_, *r.operation, e);
    }
  }

  const Program& program_;
  std::vector<Running> running_;
};

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
  Exchanges exchanges(program);
  // What has only begun has no results that a check could look at.
  Watch* const watch = watching;
  const bool results_are_read =
      IsObserving(Observer::kNumericCheck) || watch != nullptr;
  for (const PreparedBlock::Step& step : prepared.steps) {
    const Operation& o = *step.operation;
    CheckInterrupt();
    if (!exchanges.empty()) exchanges.WaitFor(step, prepared, env);
    if (watch != nullptr) [[unlikely]] {
      const WatchScope not_of_itself(nullptr);
      watch->Before(program, o, env);
    }
    try {
      if (o.op->regions != nullptr) {
        o.op->regions->evaluate(program, o, env);
      } else if (without_changes && ((o.op->traits & kTraitInplace) != 0 ||
                                     o.op->outputs.empty())) {
        PassOn(o, env);
      } else if (step.beside && !step.late && !results_are_read) {
        exchanges.Begin(step, prepared, env);
      } else {
        Call(step, prepared, env);
        if (step.late) CheckResultsOfLateCall(program, o, env);
      }
    } catch (const Error& e) {
      ThrowFor(program, o, e);
    }
    if (watch != nullptr) [[unlikely]] {
      const WatchScope not_of_itself(nullptr);
      watch->After(program, o, env);
    }
    for (uint32_t i = step.releases.begin; i < step.releases.end; ++i) {
      env[prepared.releases[i]] = Tensor();
    }
  }
  exchanges.WaitForAll();
}

WithoutChanges::WithoutChanges()
    : before_(std::exchange(without_changes, true)) {}

WithoutChanges::~WithoutChanges() { without_changes = before_; }

bool IsWatched() { return watching != nullptr; }

WatchScope::WatchScope(Watch* watch)
    : before_(std::exchange(watching, watch)) {}

WatchScope::~WatchScope() { watching = before_; }

std::vector<Tensor> EvaluateRegion(const Program& program, const Block& region,
                                   std::vector<Tensor> arguments,
                                   Environment& env) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    env[region.arguments[i]] = std::move(arguments[i]);
  }
  Evaluate(program, region, env);
  const PreparedBlock& prepared = *env.prepared(region);
  std::vector<Tensor> out;
  out.reserve(region.returns.size());
  for (size_t i = 0; i < region.returns.size(); ++i) {
    Tensor& t = env[region.returns[i]];
    out.push_back(prepared.gives_away[i] ? std::move(t) : t);
  }
  for (ValueId id : prepared.unread) env[id] = Tensor();
  return out;
}

}  // namespace proa::inline v0::jit
