// Shape and dtype rules of the reduction family; see ops/infer.h.
#ifndef PROA_OPS_REDUCTION_REDUCTION_INFER_H_
#define PROA_OPS_REDUCTION_REDUCTION_INFER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "ops/int_array.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// As `reduce`, for operations that have no result for nothing: throws Error if
// results are asked for and a reduced dim has no elements.
Shape reduce_nonempty(const char* op, const Tensor& x,
                      std::span<const int64_t> axis, bool keepdim);

// As `reduce`; for an infinite p as `reduce_nonempty`. p must not be NaN.
Shape p_norm(const char* op, const Tensor& x, double p,
             std::span<const int64_t> axis, bool keepdim);

// Shape of the index of an extremum: one dim dropped (or kept as 1), or all of
// them where axis is none.
Shape reduce_one(const char* op, const Tensor& x, std::optional<int64_t> axis,
                 bool keepdim);

// `shape` itself, checked to be one that broadcasts to the shape of x.
Shape sum_to(const char* op, const Tensor& x, const IntArray& shape);

// Shape of a running sum: that of x, or 1-D of all elements where axis is none.
Shape scan(const char* op, const Tensor& x, std::optional<int64_t> axis);

// As promote_sum, but int32 stays what it is.
DType promote_product(const char* op, const Tensor& x,
                      std::optional<DType> dtype);

// Shape of running_softmax: that of x, y and log_sums.
Shape running_softmax(const char* op, const Tensor& x, const Tensor& y,
                      const Tensor& log_sums, int64_t axis);

// int32 or int64: the types of indices.
DType index_type(const char* op, DType dtype);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_REDUCTION_REDUCTION_INFER_H_
