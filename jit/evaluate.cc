#include "jit/evaluate.h"

#include "absl/strings/str_cat.h"
#include "jit/control_flow.h"
#include "jit/text.h"
#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::jit {
namespace {

std::vector<Tensor> Values(const std::vector<Argument>& args,
                           const Environment& env) {
  std::vector<Tensor> out;
  for (const Argument& a : args) out.push_back(env[std::get<ValueRef>(a).id]);
  return out;
}

void ControlFlow(const Program& program, const Operation& o, Environment& env) {
  std::vector<Tensor> results;
  if (o.kind == OperationKind::kCond) {
    results = Cond(
        env[std::get<ValueRef>(o.args[0]).id],
        [&] { return EvaluateRegion(program, *o.regions[0], {}, env); },
        [&] { return EvaluateRegion(program, *o.regions[1], {}, env); });
  } else {
    results = WhileLoop(
        [&](const TensorList& vars) {
          return EvaluateRegion(program, *o.regions[0], vars, env)[0];
        },
        [&](const TensorList& vars) {
          return EvaluateRegion(program, *o.regions[1], vars, env);
        },
        Values(o.args, env));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    env[o.results[0][i]] = std::move(results[i]);
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
              const std::vector<bool>* skip, const ReleasePlan* release) {
  for (size_t i = 0; i < block.operations.size(); ++i) {
    if (skip != nullptr && (*skip)[i]) continue;
    const Operation& o = block.operations[i];
    CheckInterrupt();
    try {
      if (o.kind == OperationKind::kCall) {
        CallOperation(o, env);
      } else {
        ControlFlow(program, o, env);
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
