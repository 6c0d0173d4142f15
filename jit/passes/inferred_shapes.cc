#include "jit/passes/inferred_shapes.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "jit/environment.h"
#include "jit/operation_call.h"
#include "jit/recorder.h"
#include "jit/uses.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

// A tensor that may say sizes, elements and all.
bool MaySaySizes(const ValueInfo& v) {
  return v.kind == ValueKind::kCaptured && v.captured.defined() &&
         IsInteger(v.meta.dtype) && v.meta.shape.rank() <= 1 &&
         v.captured.numel() <= kMaxRank;
}

}  // namespace

std::vector<Shape> InferredShapes(const Program& program) {
  const InterpreterScope records = InterpreterScope::Allow(kRecord);
  const InterpreterScope only =
      InterpreterScope::Forbid(kAllInterpreters & ~kRecord);
  // The calls are recorded again, in a program that nobody runs: those without
  // arguments too, which would draw random numbers or fill memory.
  const auto shadow = std::make_shared<Program>();
  const StaticModeScope recording(shadow);
  Environment env(program.values().size());
  const auto declare = [&](ValueId id) {
    ValueInfo info;
    info.kind = ValueKind::kInput;
    info.meta = program.value(id).meta;
    env[id] = MakeSymbolic(shadow, shadow->AddValue(std::move(info)));
  };
  for (size_t i = 0; i < env.size(); ++i) {
    const ValueInfo& v = program.values()[i];
    if (v.kind == ValueKind::kResult) continue;
    const auto id = static_cast<ValueId>(i);
    if (MaySaySizes(v)) {
      env[id] = v.captured;
    } else {
      declare(id);
    }
  }
  for (const Operation& o : program.block().operations) {
    bool made = false;
    if (o.op->regions == nullptr && o.op->changes == 0) {
      try {
        CallOperation(o, env);
        made = true;
      } catch (const Error&) {
        // It may fail when the program runs, and says so then.
      }
    }
    ForEachResult(o, [&](ValueId id) {
      if (!made || !env[id].defined()) declare(id);
    });
  }
  std::vector<Shape> shapes;
  for (size_t i = 0; i < env.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    shapes.push_back(env[id].defined() ? env[id].shape()
                                       : program.value(id).meta.shape);
  }
  return shapes;
}

void InferShapes(Program& program) {
  std::vector<Shape> shapes = InferredShapes(program);
  for (size_t i = 0; i < shapes.size(); ++i) {
    program.value(static_cast<ValueId>(i)).meta.shape = std::move(shapes[i]);
  }
}

}  // namespace proa::inline v0::jit
