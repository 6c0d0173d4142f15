// Shape and dtype rules of the manipulation family; each is named after its op
// (see ops/infer.h for what a rule is). Errors name the op and describe the
// tensors.
#ifndef PROA_OPS_MANIPULATION_MANIPULATION_INFER_H_
#define PROA_OPS_MANIPULATION_MANIPULATION_INFER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/int_array.h"
#include "tensor/dtype.h"
#include "tensor/memory_order.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

using Ints = std::span<const int64_t>;

// Views
Shape reshape(const char* op, const Tensor& x, const IntArray& shape);
Shape transpose(const char* op, const Tensor& x, Ints perm);
Shape transpose_grad(const char* op, const Tensor& dy, Ints perm);
Shape squeeze(const char* op, const Tensor& x, Ints axis);
Shape unsqueeze(const char* op, const Tensor& x, Ints axis);
Shape flatten(const char* op, const Tensor& x, int64_t start_axis,
              int64_t stop_axis);
Shape broadcast_to(const char* op, const Tensor& x, const IntArray& shape);
Shape slice(const char* op, const Tensor& x, Ints axes, Ints starts, Ints ends,
            Ints strides);
Shape slice_grad(const char* op, const Tensor& dy, const IntArray& shape,
                 Ints axes, Ints starts, Ints ends, Ints strides);
Shape diagonal(const char* op, const Tensor& x, int64_t offset, int64_t axis1,
               int64_t axis2);
Shape diagonal_grad(const char* op, const Tensor& dy, const IntArray& shape,
                    int64_t offset, int64_t axis1, int64_t axis2);
std::vector<Shape> split(const char* op, const Tensor& x,
                         const IntArray& sections, int64_t axis);
std::vector<Shape> unbind(const char* op, const Tensor& x, int64_t axis);
Shape as_real(const char* op, const Tensor& x);
Shape as_complex(const char* op, const Tensor& x);
DType complex_of(const char* op, const Tensor& x);
Shape view_dtype(const char* op, const Tensor& x, DType dtype);

// Parts by strides
Shape as_strided(const char* op, const Tensor& x, const IntArray& shape,
                 Ints strides, int64_t offset);
Shape as_strided_grad(const char* op, const Tensor& dy, const IntArray& shape,
                      Ints strides, int64_t offset);
Shape as_strided_set(const char* op, const Tensor& x, const Tensor& value,
                     const IntArray& shape, Ints strides, int64_t offset);

// Joins
Shape concat(const char* op, std::span<const Tensor> xs, int64_t axis);
Shape stack(const char* op, std::span<const Tensor> xs, int64_t axis);
// Of images, the order that most of their elements lie in.
MemoryOrder order_of_joined(const char* op, std::span<const Tensor> xs);

// Arrangements
Shape flip(const char* op, const Tensor& x, Ints axis);
Shape roll(const char* op, const Tensor& x, Ints shifts, Ints axis);
Shape tile(const char* op, const Tensor& x, const IntArray& repeat_times);
Shape tile_grad(const char* op, const Tensor& dy, const IntArray& shape,
                const IntArray& repeat_times);
Shape repeat_interleave(const char* op, const Tensor& x,
                        const IntArray& repeats, std::optional<int64_t> axis);
Shape repeat_interleave_grad(const char* op, const Tensor& dy,
                             const IntArray& shape, const IntArray& repeats,
                             std::optional<int64_t> axis);
Shape pad(const char* op, const Tensor& x, Ints paddings,
          std::string_view mode);
Shape pad_grad(const char* op, const Tensor& dy, const IntArray& shape,
               Ints paddings, std::string_view mode);

// Triangles
Shape matrices(const char* op, const Tensor& x);  // x's shape, two dims or more
Shape diag(const char* op, const Tensor& x, int64_t offset);
Shape diag_grad(const char* op, const Tensor& dy, const IntArray& shape,
                int64_t offset);
Shape diag_embed(const char* op, const Tensor& x, int64_t offset, int64_t dim1,
                 int64_t dim2);

// Sizes
Shape rank_of(const char* op, const Tensor& x);  // [rank]
Shape scalar(const char* op, const Tensor& x);   // []

// Throws unless the known dims of `t` agree with `expected`:
// "<op>: <name> does not have the shape of <what>, [2]; dy is [3] float32".
void RequireShape(const char* op, const char* name, const Tensor& t,
                  const Shape& expected, const char* what);
// Throws unless a result of `rank` dims is one that tensors can have.
void RequireRank(const char* op, int64_t rank);
// a * b and a + b for sizes; an unknown size makes the result unknown. Throws
// Error "<op>: size overflows int64".
int64_t MulSizes(const char* op, int64_t a, int64_t b);
int64_t AddSizes(const char* op, int64_t a, int64_t b);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_MANIPULATION_MANIPULATION_INFER_H_
