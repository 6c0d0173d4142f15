#include "python/core/tensor_operators.h"

#include <Python.h>

#include "ops/infer.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "python/core/to_tensor.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

using BinaryFunction = Tensor (*)(const Tensor&, const Tensor&);
using UnaryFunction = Tensor (*)(const Tensor&);

constinit BinaryFunction binary_functions[kNumBinaryOperators] = {};
constinit UnaryFunction unary_functions[kNumUnaryOperators] = {};

template <BinaryOperator kOperator>
BinaryFunction Function() {
  const BinaryFunction f = binary_functions[static_cast<int>(kOperator)];
  if (f == nullptr) [[unlikely]] {
    Fail(absl::StatusCode::kUnimplemented,
         "this build has no op for the operator");
  }
  return f;
}

// The other operand beside the tensor `t`; undefined if it is nothing that an
// operator takes (then Python asks the other operand).
Tensor Operand(PyObject* o, const Tensor& t) {
  if (IsTensor(o)) return Unwrap(o);
  if (const std::optional<Scalar> number = FindNumber(o)) {
    return NumberTensor(*number, NumberDType(*number, t.dtype()));
  }
  if (IsArrayLike(o)) return ToTensor(o, std::nullopt, std::nullopt);
  return Tensor();
}

template <BinaryOperator kOperator>
__attribute__((noinline)) PyObject* BinarySlow(PyObject* a, PyObject* b) {
  const bool a_is_tensor = IsTensor(a);
  const Tensor x = a_is_tensor ? Unwrap(a) : Operand(a, Unwrap(b));
  const Tensor y = a_is_tensor ? Operand(b, x) : Unwrap(b);
  if (!x.defined() || !y.defined()) Py_RETURN_NOTIMPLEMENTED;
  return Wrap(WithoutGil(Elements(x) + Elements(y),
                         [&] { return Function<kOperator>()(x, y); }));
}

template <BinaryOperator kOperator>
PyObject* Binary(PyObject* a, PyObject* b) {
  return Guarded([&]() -> PyObject* {
    if (!IsExactTensor(a) || !IsExactTensor(b))
      return BinarySlow<kOperator>(a, b);
    const Tensor& x = Unwrap(a);
    const Tensor& y = Unwrap(b);
    if (x.numel() + y.numel() >= kWorthReleasing)
      return BinarySlow<kOperator>(a, b);
    return Wrap(Function<kOperator>()(x, y));
  });
}

PyObject* Power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return Binary<BinaryOperator::kPower>(a, b);
}

template <UnaryOperator kOperator>
PyObject* Unary(PyObject* o) {
  return Guarded([&] {
    const UnaryFunction f = unary_functions[static_cast<int>(kOperator)];
    if (f == nullptr) {
      Fail(absl::StatusCode::kUnimplemented,
           "this build has no op for the operator");
    }
    const Tensor& x = Unwrap(o);
    return Wrap(WithoutGil(Elements(x), [&] { return f(x); }));
  });
}

PyObject* Positive(PyObject* o) { return Py_NewRef(o); }

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return Binary<BinaryOperator::kLess>(a, b);
    case Py_LE:
      return Binary<BinaryOperator::kLessEqual>(a, b);
    case Py_EQ:
      return Binary<BinaryOperator::kEqual>(a, b);
    case Py_NE:
      return Binary<BinaryOperator::kNotEqual>(a, b);
    case Py_GT:
      return Binary<BinaryOperator::kGreater>(a, b);
    default:
      return Binary<BinaryOperator::kGreaterEqual>(a, b);
  }
}

// By identity: `==` gives a tensor, so equal hashes could not mean equal
// tensors.
Py_hash_t Hash(PyObject* o) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(o) >> 4);
}

}  // namespace

void SetOperator(BinaryOperator slot, BinaryFunction function) {
  binary_functions[static_cast<int>(slot)] = function;
}
void SetOperator(UnaryOperator slot, UnaryFunction function) {
  unary_functions[static_cast<int>(slot)] = function;
}

// There are no in-place slots: `x += y` binds x to a new tensor, as in Paddle,
// where other names for the old one keep its value. `x.add_(y)` works in place.
void AddOperators(Slots* slots) {
  using enum BinaryOperator;
  const auto add = [&](int slot, auto* function) {
    slots->push_back({slot, reinterpret_cast<void*>(function)});
  };
  add(Py_nb_add, &Binary<kAdd>);
  add(Py_nb_subtract, &Binary<kSubtract>);
  add(Py_nb_multiply, &Binary<kMultiply>);
  add(Py_nb_true_divide, &Binary<kDivide>);
  add(Py_nb_floor_divide, &Binary<kFloorDivide>);
  add(Py_nb_remainder, &Binary<kRemainder>);
  add(Py_nb_power, &Power);
  add(Py_nb_matrix_multiply, &Binary<kMatmul>);
  add(Py_nb_and, &Binary<kAnd>);
  add(Py_nb_or, &Binary<kOr>);
  add(Py_nb_xor, &Binary<kXor>);
  add(Py_nb_lshift, &Binary<kLeftShift>);
  add(Py_nb_rshift, &Binary<kRightShift>);
  add(Py_nb_negative, &Unary<UnaryOperator::kNegative>);
  add(Py_nb_invert, &Unary<UnaryOperator::kInvert>);
  add(Py_nb_absolute, &Unary<UnaryOperator::kAbsolute>);
  add(Py_nb_positive, &Positive);
  add(Py_tp_richcompare, &Compare);
  add(Py_tp_hash, &Hash);
}

}  // namespace proa::inline v0::python
