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
  const bool same_elements = to.storage != nullptr &&
                             to.storage == from.storage &&
                             from.autograd == nullptr;
  to.dtype = from.dtype;
  to.layout = from.layout;
  to.place = from.place;
  to.contiguous = from.contiguous;
  to.shape = from.shape;
  to.strides = from.strides;
  to.numel = from.numel;
  to.data = from.data;
  to.storage = from.storage;
  to.symbol = from.symbol;
  to.layout_data = from.layout_data;
  if (same_elements) return;
  to.is_view = from.is_view;
  to.flags = value.flags();
  // A symbolic reshape of `x` itself is a view of it.
  to.root = from.root.get() == &to ? nullptr : from.root;
  // The grad state describes the value: hooks and all move from one that is
  // about to go.
  if (from.use_count() == 1) {
    to.autograd = std::move(value.impl()->autograd);
  } else {
    to.autograd = from.autograd != nullptr ? from.autograd->Share() : nullptr;
  }
}

}  // namespace proa::inline v0
