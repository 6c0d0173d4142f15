// Shape and dtype rules of the indexing family (see ops/infer.h for what a rule
// is).
#ifndef PROA_OPS_INDEXING_INDEXING_INFER_H_
#define PROA_OPS_INDEXING_INDEXING_INFER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "ops/int_array.h"
#include "tensor/dtype.h"
#include "tensor/memory_order.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

using Ints = std::span<const int64_t>;

// Dims
// The dims of `axis`, a bit for each; throws Error if one is known not to be
// of size 1.
uint64_t DroppedDims(const char* op, const Tensor& x, Ints axis);
Shape drop_dims(const char* op, const Tensor& x, Ints axis);

// Rows
Shape gather(const char* op, const Tensor& x, const Tensor& index,
             int64_t axis);
// Images of which some rows, columns or channels are taken lie as before; they
// are none any more where index is no list.
MemoryOrder order_of_taken(const char* op, const Tensor& x,
                           const Tensor& index);
Shape gather_grad(const char* op, const Tensor& dy, const Tensor& index,
                  const IntArray& shape, int64_t axis);
Shape gather_nd(const char* op, const Tensor& x, const Tensor& index);
Shape scatter_nd(const char* op, const Tensor& index, const Tensor& updates,
                 const IntArray& shape);
Shape scatter_nd_add(const char* op, const Tensor& x, const Tensor& index,
                     const Tensor& updates);
Shape scatter(const char* op, const Tensor& x, const Tensor& index,
              const Tensor& updates);
Shape scatter_grad(const char* op, const Tensor& dy, const Tensor& index);
Shape scatter_updates_grad(const char* op, const Tensor& dy,
                           const Tensor& index);
Shape embedding(const char* op, const Tensor& x, const Tensor& weight);
Shape embedding_grad(const char* op, const Tensor& dy, const Tensor& x,
                     const IntArray& shape);
Shape row_sparse(const char* op, const Tensor& rows, const Tensor& values,
                 int64_t height);
Shape held_rows(const char* op, const Tensor& x);
Shape held_values(const char* op, const Tensor& x);
Shape held_values_grad(const char* op, const Tensor& dy, const Tensor& x);
Shape one_hot(const char* op, const Tensor& x, int64_t num_classes);

// Elements along an axis
Shape take_along_axis(const char* op, const Tensor& x, const Tensor& indices,
                      int64_t axis);
Shape take_along_axis_grad(const char* op, const Tensor& dy,
                           const Tensor& indices, const IntArray& shape,
                           int64_t axis);
Shape put_along_axis(const char* op, const Tensor& x, const Tensor& indices,
                     const Tensor& value, int64_t axis);

// NumPy's indexing
Shape index_get(const char* op, const Tensor& x,
                std::span<const Tensor> indices, Ints axes, int64_t position);
Shape index_get_grad(const char* op, const Tensor& dy,
                     std::span<const Tensor> indices, const IntArray& shape,
                     Ints axes, int64_t position);
Shape index_put(const char* op, const Tensor& x,
                std::span<const Tensor> indices, const Tensor& value, Ints axes,
                int64_t position, bool accumulate);
Shape slice_set(const char* op, const Tensor& x, const Tensor& value, Ints axes,
                Ints starts, Ints ends, Ints strides);

// Conditions and order; sizes that depend on values are unknown
Shape nonzero(const char* op, const Tensor& x);
Shape masked_select(const char* op, const Tensor& x, const Tensor& mask);
Shape masked_select_grad(const char* op, const Tensor& dy, const Tensor& mask,
                         const IntArray& shape);
Shape topk(const char* op, const Tensor& x, int64_t k, int64_t axis);
Shape kthvalue(const char* op, const Tensor& x, int64_t k, int64_t axis,
               bool keepdim);
Shape searchsorted(const char* op, const Tensor& sorted_sequence,
                   const Tensor& values);
DType searchsorted_dtype(const char* op, bool out_int32);
Shape unique(const char* op, const Tensor& x, std::optional<int64_t> axis);
Shape unique_count(const char* op, const Tensor& x);
Shape unique_inverse(const char* op, const Tensor& x,
                     std::optional<int64_t> axis);

// Where the broadcast index dims stand: `position`, or NumPy's place for -1.
int IndexPosition(const char* op, const Shape& x, Ints axes, int64_t position);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_INDEXING_INDEXING_INFER_H_
