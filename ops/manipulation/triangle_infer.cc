#include <limits>
#include <string>

#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "ops/manipulation/slice_range.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

Shape DiagShape(const char* op, const Shape& shape, int64_t offset,
                const std::string& described) {
  PROA_REQUIRE(shape.rank() == 1 || shape.rank() == 2, op,
               ": x must have 1 or 2 dims; x is ", described);
  if (shape.rank() == 2) {
    if (!shape.known()) return {kUnknownDim};
    return {DiagonalLength(shape[0], shape[1], offset)};
  }
  if (offset == std::numeric_limits<int64_t>::min()) {
    FailArgument(op, ": size overflows int64");
  }
  const int64_t n = AddSizes(op, shape[0], offset < 0 ? -offset : offset);
  MulSizes(op, n, n);
  return {n, n};
}

}  // namespace

Shape matrices(const char* op, const Tensor& x) {
  PROA_REQUIRE(x.rank() >= 2, op, ": x needs 2 dims or more; x is ",
               Describe(x));
  return x.shape();
}

Shape diag(const char* op, const Tensor& x, int64_t offset) {
  return DiagShape(op, x.shape(), offset, Describe(x));
}

Shape diag_grad(const char* op, const Tensor& dy, const IntArray& shape,
                int64_t offset) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy, DiagShape(op, out, offset, ToString(out)),
               "the result of diag");
  return out;
}

Shape diag_embed(const char* op, const Tensor& x, int64_t offset, int64_t dim1,
                 int64_t dim2) {
  PROA_REQUIRE(x.rank() >= 1, op, ": x needs 1 dim or more; x is ",
               Describe(x));
  RequireRank(op, x.rank() + 1);
  const int rank = x.rank() + 1;
  const int a = NormalizeAxis(op, dim1, rank),
            b = NormalizeAxis(op, dim2, rank);
  PROA_REQUIRE(a != b, op, ": dims ", dim1, " and ", dim2, " are the same dim");
  if (offset == std::numeric_limits<int64_t>::min()) {
    FailArgument(op, ": size overflows int64");
  }
  const int64_t n =
      AddSizes(op, x.size(x.rank() - 1), offset < 0 ? -offset : offset);
  MulSizes(op, n, n);
  Shape out;
  for (int i = 0, from = 0; i < rank; ++i) {
    out.push_back(i == a || i == b ? n : x.size(from++));
  }
  return out;
}

}  // namespace proa::inline v0::ops::infer
