#include "ops/interpreter.h"

#include <bit>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

// By bit number. Null until the room (or target) that brings it is linked in.
constinit BoxedInterpreter interpreters[kNumInterpreters] = {};

// Of LeaveInterpreter.
constinit thread_local Interpreters left = 0;

// The interpreter itself, with its bit forbidden.
void Run(Interpreters bit, const OpDefinition& op, std::span<const Value> args,
         std::span<Value> results) {
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

}  // namespace

void LeaveInterpreter(Interpreters bit) { left |= bit; }

void InstallInterpreter(Interpreters bit, BoxedInterpreter fn) {
  interpreters[std::countr_zero(bit) & (kNumInterpreters - 1)] = fn;
}

void Interpret(Interpreters active, const OpDefinition& op,
               std::span<const Value> args, std::span<Value> results) {
  Run(active & -active, op, args, results);
  if (left != 0) [[unlikely]] {
    thread_interpreters.forced &= ~left;
    left = 0;
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
