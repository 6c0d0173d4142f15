// Rules of sparse tensors by their parts (see ops/infer.h for what a rule may
// do).
#ifndef PROA_OPS_SPARSE_SPARSE_INFER_H_
#define PROA_OPS_SPARSE_SPARSE_INFER_H_

#include <cstdint>
#include <span>

#include "ops/int_array.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// Indices [dims, count] of elements in a shape: as they are; as many as are
// different; one for each.
Shape coo_indices(const char* op, const Tensor& indices, const IntArray& shape);
Shape coo_distinct(const char* op, const Tensor& indices,
                   const IntArray& shape);
Shape coo_count(const char* op, const Tensor& indices, const IntArray& shape);

Shape crows_of(const char* op, const Tensor& indices, const IntArray& shape);
Shape csr_indices(const char* op, const Tensor& crows, const Tensor& cols,
                  const IntArray& shape);
Shape coo_product(const char* op, const Tensor& x_indices,
                  const Tensor& y_indices, const IntArray& x_shape,
                  const IntArray& y_shape);
// As many as there are.
Shape some_pairs(const char* op);

Shape csr_matmul(const char* op, const Tensor& values, const Tensor& crows,
                 const Tensor& cols, const Tensor& y, const IntArray& shape,
                 bool transpose);
Shape csr_sampled_matmul(const char* op, const Tensor& x, const Tensor& y,
                         const Tensor& crows, const Tensor& cols,
                         const IntArray& shape);

// The shape of x, which has a row for each id.
Shape grouped(const char* op, const Tensor& x, const Tensor& segment_ids);

// Results of a window over an image, and its places.
Shape window_results(const char* op, const Tensor& indices,
                     const IntArray& shape, std::span<const int64_t> window,
                     std::span<const int64_t> strides,
                     std::span<const int64_t> paddings,
                     std::span<const int64_t> dilations, bool submanifold);
Shape window_places(const char* op, const Tensor& indices,
                    const IntArray& shape, std::span<const int64_t> window,
                    std::span<const int64_t> strides,
                    std::span<const int64_t> paddings,
                    std::span<const int64_t> dilations, bool submanifold);

Shape rulebook_rows(const char* op, const Tensor& x, const Tensor& weight,
                    const Tensor& source, const Tensor& target,
                    const Tensor& counts, const IntArray& rows);
Shape rulebook_weights(const char* op, const Tensor& x, const Tensor& dy,
                       const Tensor& source, const Tensor& target,
                       const Tensor& counts);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_SPARSE_SPARSE_INFER_H_
