// Dual: a tensor and the rate at which it changes along a direction, over ops.
//
// What a gradient is differentiated with: the gradient of <v, J(x)^T g> by g is
// the rate of the function along v, by x it is the rate of J(x)^T g along v. So
// a forward and a backward pass written once over Dual are the gradient of the
// gradient, and being made of ops they have gradients of any order themselves.
#ifndef PROA_OPS_RECURRENT_DUAL_H_
#define PROA_OPS_RECURRENT_DUAL_H_

#include <vector>

#include "ops/creation/full_ops.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/reduction/moments_ops.h"
#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

struct Dual {
  Tensor value;
  Tensor rate;  // undefined: constant
};

// `t` itself where it is undefined.
inline Tensor SumOfRates(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? add(a, b) : a;
}
template <typename F>
Tensor RateBy(const Tensor& rate, F&& f) {
  return rate.defined() ? f(rate) : rate;
}
// f(x) for each of the two, for linear f.
template <typename F>
Dual Linearly(const Dual& x, F&& f) {
  return {f(x.value), RateBy(x.rate, f)};
}

inline Dual operator+(const Dual& a, const Dual& b) {
  return {add(a.value, b.value), SumOfRates(a.rate, b.rate)};
}
inline Dual operator-(const Dual& a, const Dual& b) {
  return {subtract(a.value, b.value),
          SumOfRates(a.rate,
                     RateBy(b.rate, [](const Tensor& r) { return neg(r); }))};
}
inline Dual operator*(const Dual& a, const Dual& b) {
  const auto times = [](const Tensor& y) {
    return [&y](const Tensor& r) { return multiply(r, y); };
  };
  return {multiply(a.value, b.value),
          SumOfRates(RateBy(a.rate, times(b.value)),
                     RateBy(b.rate, times(a.value)))};
}

inline Dual Product(const Dual& a, const Dual& b, bool transpose_a = false,
                    bool transpose_b = false) {
  const auto by_a = [&](const Tensor& r) {
    return matmul(r, b.value, transpose_a, transpose_b);
  };
  const auto by_b = [&](const Tensor& r) {
    return matmul(a.value, r, transpose_a, transpose_b);
  };
  return {matmul(a.value, b.value, transpose_a, transpose_b),
          SumOfRates(RateBy(a.rate, by_a), RateBy(b.rate, by_b))};
}

inline Dual ExpOf(const Dual& x) {
  const Tensor y = exp(x.value);
  return {y, RateBy(x.rate, [&](const Tensor& r) { return multiply(r, y); })};
}

inline Dual SigmoidOf(const Dual& x) {
  const Tensor y = sigmoid(x.value);
  return {y, RateBy(x.rate, [&](const Tensor& r) {
            return multiply(r, subtract(y, multiply(y, y)));
          })};
}
inline Dual TanhOf(const Dual& x) {
  const Tensor y = tanh(x.value);
  return {y, RateBy(x.rate, [&](const Tensor& r) {
            return subtract(r, multiply(r, multiply(y, y)));
          })};
}
// What is multiplied where `out`, of relu, is positive, else 0.
inline Dual WherePositive(const Dual& x, const Tensor& out) {
  return Linearly(x, [&](const Tensor& t) { return relu_backward(t, out); });
}
inline Dual ReluOf(const Dual& x) {
  const Tensor y = relu(x.value);
  return {y,
          RateBy(x.rate, [&](const Tensor& r) { return relu_backward(r, y); })};
}

// x where `condition`, else y.
inline Dual Chosen(const Tensor& condition, const Dual& x, const Dual& y) {
  const auto rate_of = [](const Dual& d) {
    return d.rate.defined() ? d.rate : full_like(d.value, Scalar(0.0));
  };
  Dual out{where(condition, x.value, y.value), Tensor()};
  if (x.rate.defined() || y.rate.defined())
    out.rate = where(condition, rate_of(x), rate_of(y));
  return out;
}

// log(sum(exp(xs))) over the tensors of a list, element by element.
inline Dual LogSumExp(const std::vector<Dual>& xs) {
  std::vector<Tensor> values, rates;
  for (const Dual& x : xs) values.push_back(x.value);
  const int64_t first[] = {0};
  const Tensor y = logsumexp(stack(values, 0), first);
  Tensor rate;
  for (const Dual& x : xs)
    rate = SumOfRates(rate, RateBy(x.rate, [&](const Tensor& r) {
                        return multiply(r, exp(subtract(x.value, y)));
                      }));
  return {y, rate};
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_RECURRENT_DUAL_H_
