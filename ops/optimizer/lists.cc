#include "ops/optimizer/lists.h"

#include <string>

#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::optimizer {
namespace {

void CheckLengths(const char* op, std::span<const Tensor> params,
                  const char* name, std::span<const Tensor> list) {
  PROA_REQUIRE(list.size() == params.size(), op, ": params has ", params.size(),
               " tensors but ", name, " has ", list.size());
}

bool IsLow(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }

// Throws unless `t`, element i of the list `name`, is like `p`.
void CheckLike(const char* op, const Tensor& p, const char* name, size_t i,
               const Tensor& t) {
  PROA_REQUIRE(p.is_contiguous(), op, ": params[", i,
               "] must be contiguous; it is ", Describe(p));
  PROA_REQUIRE(t.shape() == p.shape() && t.dtype() == p.dtype(), op, ": ", name,
               "[", i, "] is ", Describe(t), ", but params[", i, "] is ",
               Describe(p));
}

}  // namespace

void CheckBeside(const char* op, std::span<const Tensor> params,
                 const char* name, std::span<const Tensor> list) {
  CheckLengths(op, params, name, list);
  for (size_t i = 0; i < params.size(); ++i) {
    CheckLike(op, params[i], name, i, list[i]);
    PROA_REQUIRE(list[i].is_contiguous(), op, ": ", name, "[", i,
                 "] must be contiguous; it is ", Describe(list[i]));
  }
}

void CheckGradients(const char* op, std::span<const Tensor> params,
                    std::span<const Tensor> grads) {
  CheckLengths(op, params, "grads", grads);
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor &p = params[i], &g = grads[i];
    const bool narrow = p.dtype() == DType::kFloat32 && IsLow(g.dtype());
    if (narrow && p.is_contiguous() && g.shape() == p.shape()) continue;
    CheckLike(op, p, "grads", i, g);
  }
}

void CheckRounded(const char* op, std::span<const Tensor> params,
                  std::span<const Tensor> rounded) {
  if (rounded.empty()) return;
  CheckLengths(op, params, "rounded", rounded);
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor &p = params[i], &r = rounded[i];
    PROA_REQUIRE(p.dtype() == DType::kFloat32, op, ": params[", i,
                 "] must be float32 beside rounded ones; it is ", Describe(p));
    PROA_REQUIRE(IsLow(r.dtype()), op, ": rounded[", i,
                 "] must be float16 or bfloat16; it is ", Describe(r));
    PROA_REQUIRE(r.shape() == p.shape(), op, ": rounded[", i, "] is ",
                 Describe(r), ", but params[", i, "] is ", Describe(p));
    PROA_REQUIRE(r.is_contiguous(), op, ": rounded[", i,
                 "] must be contiguous; it is ", Describe(r));
  }
}

void CheckFloating(const char* op, const char* name,
                   std::span<const Tensor> list) {
  for (size_t i = 0; i < list.size(); ++i) {
    PROA_REQUIRE(IsFloat(list[i].dtype()), op, ": ", name, "[", i,
                 "] must be of a floating-point type; it is ",
                 Describe(list[i]));
  }
}

void CheckUnscale(const char* op, std::span<const Tensor> xs,
                  const Tensor& found_inf) {
  CheckFloating(op, "xs", xs);
  for (size_t i = 0; i < xs.size(); ++i) {
    PROA_REQUIRE(xs[i].is_contiguous(), op, ": xs[", i,
                 "] must be contiguous; it is ", Describe(xs[i]));
  }
  PROA_REQUIRE(found_inf.numel() == 1 && found_inf.dtype() == DType::kBool, op,
               ": found_inf must be one bool element; it is ",
               Describe(found_inf));
}

void CheckPowers(const char* op, std::span<const Tensor> params,
                 const char* name, std::span<const Tensor> list, bool wide) {
  CheckLengths(op, params, name, list);
  for (size_t i = 0; i < list.size(); ++i) {
    const DType dtype = list[i].dtype();
    const bool fits =
        dtype == DType::kFloat32 || (wide && dtype == DType::kFloat64 &&
                                     params[i].dtype() == DType::kFloat64);
    PROA_REQUIRE(list[i].numel() == 1 && fits, op, ": ", name, "[", i,
                 "] must be one float32 element",
                 wide ? " (or float64, beside a float64 parameter)" : "",
                 "; it is ", Describe(list[i]));
  }
}

double PowerOf(const Tensor& power) {
  return power.dtype() == DType::kFloat64 ? *power.data<double>()
                                          : *power.data<float>();
}

void RaisePower(const Tensor& power, double beta) {
  if (power.dtype() == DType::kFloat64) {
    *power.data<double>() *= beta;
  } else {
    float& at = *power.data<float>();
    at = static_cast<float>(at * beta);
  }
}

double ReadRate(const char* op, const Tensor& lr) {
  PROA_REQUIRE(lr.numel() == 1, op, ": lr must have one element; it is ",
               Describe(lr));
  return lr.item<double>();
}

}  // namespace proa::inline v0::ops::optimizer
