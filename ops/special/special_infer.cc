#include "ops/special/special_infer.h"

#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

constexpr int64_t kMostOrder = 10000;

}  // namespace

Shape polygamma(const char* op, const Tensor& x, int64_t n) {
  PROA_REQUIRE(n >= 0, op, ": n is ", n, "; it must not be negative");
  PROA_REQUIRE(n <= kMostOrder, op, ": n is ", n, "; it may be ", kMostOrder,
               " at most");
  return x.shape();
}

Shape bessel_order(const char* op, const Tensor& x, int64_t order) {
  PROA_REQUIRE(order >= 0, op, ": order is ", order,
               "; it must not be negative");
  PROA_REQUIRE(order <= kMostOrder, op, ": order is ", order, "; it may be ",
               kMostOrder, " at most");
  return x.shape();
}

}  // namespace proa::inline v0::ops::infer
