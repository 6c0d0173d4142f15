#include "jit/evaluate.h"

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

bool IsLateCall(const Operation& o) {
  for (size_t i = 0; i < o.args.size(); ++i) {
    const auto* ref = std::get_if<ValueRef>(&o.args[i]);
    if (ref != nullptr && ref->id != kNoValue && MayBeLate(o.op->params[i])) {
      return true;
    }
  }
  return false;
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
  for (size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& o = block.operations[i];
    CheckInterrupt();
    try {
      if (o.op->regions != nullptr) {
        o.op->regions->evaluate(program, o, env);
      } else if (without_changes && (o.op->traits & kTraitInplace) != 0) {
        PassOn(o, env);
      } else {
        CallOperation(o, env);
        if (IsLateCall(o)) CheckResultsOfLateCall(program, o, env);
      }
    } catch (const Error& e) {
      e.ThrowWith(absl::StrCat("  in the program: ", OperationText(program, o),
                               o.where != nullptr ? "\n  recorded: " : "",
                               o.where != nullptr ? o.where : ""));
    }
    if (release != nullptr) {
      for (ValueId id : (*release)[i]) env[id] = Tensor();
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
