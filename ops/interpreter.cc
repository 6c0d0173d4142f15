#include "ops/interpreter.h"

#include <bit>

#include "profiler/events.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

void Profile(const OpDefinition& op, std::span<const Value> args,
             std::span<Value> results) {
  const profiler::Range range(op.name);
  op.call(args, results);
}

// By bit number. Recording and autocast are null until their rooms are linked in.
constinit BoxedInterpreter interpreters[kNumInterpreters] = {&Profile};

}  // namespace

void InstallInterpreter(Interpreters bit, BoxedInterpreter fn) {
  interpreters[std::countr_zero(bit) & (kNumInterpreters - 1)] = fn;
}

void Interpret(Interpreters active, const OpDefinition& op,
               std::span<const Value> args, std::span<Value> results) {
  const Interpreters bit = active & -active;
  const InterpreterScope scope = InterpreterScope::Forbid(bit);
  const BoxedInterpreter fn =
      interpreters[std::countr_zero(bit) & (kNumInterpreters - 1)];
  if (fn != nullptr) {
    fn(op, args, results);
  } else {
    PROA_REQUIRE(bit != kRecord, op.name,
                 ": an argument is symbolic, but this program cannot record "
                 "(//jit is not linked in)");
    op.call(args, results);
  }
}

void Rebind(const Tensor& x, const Tensor& value) {
  if (x.is_same(value)) return;
  TensorImpl& to = *x.impl();
  const TensorImpl& from = *value.impl();
  to.flags = from.flags;
  to.dtype = from.dtype;
  to.layout = from.layout;
  to.place = from.place;
  to.contiguous = from.contiguous;
  to.is_view = from.is_view;
  to.shape = from.shape;
  to.strides = from.strides;
  to.numel = from.numel;
  to.data = from.data;
  to.storage = from.storage;
  to.symbol = from.symbol;
  to.layout_data = from.layout_data;
  // The grad state describes the value, and `value` is about to go.
  to.autograd = std::move(value.impl()->autograd);
}

}  // namespace proa::inline v0
