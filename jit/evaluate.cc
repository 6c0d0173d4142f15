#include "jit/evaluate.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "jit/region_op.h"
#include "jit/text.h"
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
