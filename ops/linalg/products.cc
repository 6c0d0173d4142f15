// Products of fixed rank, as formulas over ops.
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/infer.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/linalg/products_ops.h"
#include "ops/manipulation/view_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

Tensor AddDim(const Tensor& t, int64_t axis) {
  const int64_t axes[] = {axis};
  return unsqueeze(t, axes);
}

void RequireRank(const char* op, const char* name, const Tensor& t, int rank) {
  PROA_REQUIRE(t.rank() == rank, op, ": ", name, " must have ", rank,
               " dims; it is ", Describe(t));
}

}  // namespace

Tensor BatchedMatMul(const Tensor& x, const Tensor& y) {
  RequireRank("bmm", "x", x, 3);
  RequireRank("bmm", "y", y, 3);
  PROA_REQUIRE(
      x.size(0) == y.size(0) || IsUnknown(x.size(0)) || IsUnknown(y.size(0)),
      "bmm: the batch sizes differ; x is ", Describe(x), ", y is ",
      Describe(y));
  return matmul(x, y);
}

Tensor MatrixVector(const Tensor& x, const Tensor& vec) {
  RequireRank("mv", "x", x, 2);
  RequireRank("mv", "vec", vec, 1);
  return matmul(x, vec);
}

Tensor Dot(const Tensor& x, const Tensor& y) {
  PROA_REQUIRE(x.rank() == y.rank() && (x.rank() == 1 || x.rank() == 2),
               "dot: x and y must both have 1 or 2 dims; x is ", Describe(x),
               ", y is ", Describe(y));
  if (x.rank() == 1) return matmul(x, y);
  PROA_REQUIRE(
      x.size(0) == y.size(0) || IsUnknown(x.size(0)) || IsUnknown(y.size(0)),
      "dot: the batch sizes differ; x is ", Describe(x), ", y is ",
      Describe(y));
  const int64_t matrix[] = {1, 2};
  return squeeze(matmul(AddDim(x, 1), AddDim(y, 2)), matrix);
}

Tensor Outer(const Tensor& x, const Tensor& y) {
  return multiply(reshape(x, IntArray{-1, 1}), reshape(y, IntArray{1, -1}));
}

Tensor AddMatMul(const Tensor& input, const Tensor& x, const Tensor& y,
                 double beta, double alpha) {
  RequireRank("addmm", "x", x, 2);
  RequireRank("addmm", "y", y, 2);
  const Tensor product = matmul(x, y);
  // The factors cut nothing off where integers stand beside floating operands.
  const DType common = infer::promote("addmm", input, product);
  const auto times = [common](const Tensor& t, double factor) {
    if (factor == 1) return t;
    return scale(t.dtype() == common ? t : cast(t, common), Scalar(factor));
  };
  return add(times(input, beta), times(product, alpha));
}

}  // namespace proa::inline v0::ops
