// Python's operators on tensors: a table of functions that generated code fills
// from `python: {operator: ...}` of the schemas, behind the number slots of the
// type.
#ifndef PROA_PYTHON_CORE_TENSOR_OPERATORS_H_
#define PROA_PYTHON_CORE_TENSOR_OPERATORS_H_

#include "tensor/tensor.h"

namespace proa::inline v0::python {

// The comparisons are in the order of Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE.
enum class BinaryOperator {
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kPower,
  kMatmul,
  kAnd,
  kOr,
  kXor,
  kLeftShift,
  kRightShift,
};
inline constexpr int kNumBinaryOperators = 19;

enum class UnaryOperator { kNegative, kInvert, kAbsolute };
inline constexpr int kNumUnaryOperators = 3;

void SetOperator(BinaryOperator slot,
                 Tensor (*function)(const Tensor&, const Tensor&));
void SetOperator(UnaryOperator slot, Tensor (*function)(const Tensor&));

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_OPERATORS_H_
