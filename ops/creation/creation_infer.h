// Shape and dtype rules of the creation family (see ops/infer.h for what a rule
// is).
#ifndef PROA_OPS_CREATION_CREATION_INFER_H_
#define PROA_OPS_CREATION_CREATION_INFER_H_

#include <cstdint>
#include <optional>

#include "ops/int_array.h"
#include "tensor/dtype.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// `dtype` if given, else the default dtype (its complex type for a complex
// value).
DType default_dtype(const char* op, const Scalar& value,
                    std::optional<DType> dtype);
// `dtype` if given, else int64.
DType integer_dtype(const char* op, std::optional<DType> dtype);

// [n], the number of elements of start, start + step, ... below `end`.
Shape arange(const char* op, const Scalar& start,
             const std::optional<Scalar>& end, const Scalar& step,
             std::optional<DType> dtype);
DType arange_dtype(const char* op, const Scalar& start,
                   const std::optional<Scalar>& end, const Scalar& step,
                   std::optional<DType> dtype);
Shape linspace(const char* op, const Scalar& start, const Scalar& stop,
               int64_t num);
Shape eye(const char* op, int64_t num_rows, std::optional<int64_t> num_columns);
Shape triangle_indices(const char* op, int64_t row, int64_t col, int64_t offset,
                       bool lower);

Shape randint(const char* op, int64_t low, std::optional<int64_t> high,
              const IntArray& shape, std::optional<DType> dtype);
Shape randperm(const char* op, int64_t n);
Shape multinomial(const char* op, const Tensor& x, int64_t num_samples,
                  bool replacement);

// Number of columns that row i of a triangle holds, from the left (lower) or
// from the right.
int64_t TriangleColumns(int64_t i, int64_t cols, int64_t offset, bool lower);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_CREATION_CREATION_INFER_H_
