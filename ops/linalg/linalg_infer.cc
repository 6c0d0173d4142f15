#include "ops/linalg/linalg_infer.h"

#include <string>

#include "ops/infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

Shape BatchDims(const Tensor& t) {
  const auto dims = t.shape().span();
  return Shape(dims.first(dims.size() > 2 ? dims.size() - 2 : 0));
}

// A bias is cast to the type of the result, and must not lose more than digits.
void RequireHeld(const char* op, const Tensor& bias, DType result) {
  if (!bias.defined() || IsComplex(result)) return;
  if (IsComplex(bias.dtype()) || (IsFloat(bias.dtype()) && !IsFloat(result))) {
    ThrowTypeError(
        std::string(op) + ": the result is " + std::string(Name(result)) +
        ", which does not hold the bias; cast x; bias is " + Describe(bias));
  }
}

}  // namespace

Shape matmul(const char* op, const Tensor& x, const Tensor& y, bool transpose_x,
             bool transpose_y) {
  const int xr = x.rank(), yr = y.rank();
  PROA_REQUIRE(xr > 0 && yr > 0, op, ": a 0-d tensor is no matrix; x is ",
               Describe(x), ", y is ", Describe(y), "; use multiply");
  const int64_t xk = xr == 1 || !transpose_x ? x.size(xr - 1) : x.size(xr - 2);
  const int64_t yk =
      yr == 1 ? y.size(0) : y.size(transpose_y ? yr - 1 : yr - 2);
  PROA_REQUIRE(!Differ(xk, yk), op, ": the inner sizes ", xk, " and ", yk,
               " differ; x is ", Describe(x), transpose_x ? " transposed" : "",
               ", y is ", Describe(y), transpose_y ? " transposed" : "");
  Shape out;
  if (xr > 2 || yr > 2) {
    try {
      out = BroadcastShapes(op, BatchDims(x), BatchDims(y));
    } catch (const Error&) {
      FailArgument(op, ": the batch dims do not broadcast; x is ", Describe(x),
                   ", y is ", Describe(y));
    }
  }
  if (xr > 1) out.push_back(x.size(transpose_x ? xr - 1 : xr - 2));
  if (yr > 1) out.push_back(y.size(transpose_y ? yr - 2 : yr - 1));
  out.numel();  // throws if the product overflows
  return out;
}

Shape linear(const char* op, const Tensor& x, const Tensor& weight,
             const Tensor& bias) {
  PROA_REQUIRE(weight.rank() == 2, op, ": weight must be [in, out]; it is ",
               Describe(weight));
  PROA_REQUIRE(x.rank() >= 1, op, ": x must be [..., in]; it is ", Describe(x));
  PROA_REQUIRE(!Differ(x.size(x.rank() - 1), weight.size(0)), op,
               ": the last size of x and the first of weight differ; x is ",
               Describe(x), ", weight is ", Describe(weight));
  PROA_REQUIRE(!bias.defined() ||
                   (bias.rank() == 1 && !Differ(bias.size(0), weight.size(1))),
               op, ": bias must be [out]; it is ", Describe(bias),
               ", weight is ", Describe(weight));
  RequireHeld(op, bias, promote(op, x, weight));
  Shape out = x.shape();
  out[out.rank() - 1] = weight.size(1);
  out.numel();  // throws if the product overflows
  return out;
}

Shape square(const char* op, const Tensor& x) {
  const int rank = x.rank();
  PROA_REQUIRE(rank >= 2 && !Differ(x.size(rank - 1), x.size(rank - 2)), op,
               ": x must be [..., N, N]; it is ", Describe(x));
  return x.shape();
}

Shape square_batch(const char* op, const Tensor& x) {
  square(op, x);
  return BatchDims(x);
}

}  // namespace proa::inline v0::ops::infer
