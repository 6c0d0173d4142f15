// Type promotion: the dtype in which an op of several arguments works. One
// table.
//
// Promote(x, y) is the least type, in the order bool < integers < floats <
// complex, that both convert to without leaving their category:
//   uint8 + int8 -> int16      int64 + float16 -> float16
//   float16 + bfloat16 -> float32    float64 + complex64 -> complex128
// It is commutative, associative over equal categories, and Promote(x, x) == x.
// A Python number only raises the category (PromoteScalar).
#ifndef PROA_TENSOR_PROMOTION_H_
#define PROA_TENSOR_PROMOTION_H_

#include "tensor/dtype.h"

namespace proa::inline v0 {

DType Promote(DType x, DType y);

// The dtype of `tensor op number`, where the number is of kind 'b', 'i', 'f' or
// 'c' (Scalar::kind). The tensor's type stays if its category is at least the
// number's:
//   float16 with 'f' -> float16     int32 with 'f' -> default_float
//   bool with 'i' -> int64          float32 with 'c' -> complex64
//   float64 with 'c' -> complex128  int32 with 'c' -> complex of default_float
// `default_float` is the framework's default dtype (float32 unless set).
DType PromoteScalar(DType tensor, char kind,
                    DType default_float = DType::kFloat32);

// The dtype that a lone Python number becomes: bool, int64, default_float, and
// the complex type of default_float.
DType DTypeOfScalar(char kind, DType default_float = DType::kFloat32);

// float64 -> complex128, other floats -> complex64, complex types are
// themselves; others become the complex type of float32.
DType ComplexType(DType t);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_PROMOTION_H_
