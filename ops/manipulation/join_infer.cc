#include <span>

#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {

Shape concat(const char* op, std::span<const Tensor> xs, int64_t axis) {
  PROA_REQUIRE(!xs.empty(), op, ": the list of tensors is empty");
  Shape out = xs[0].shape();
  PROA_REQUIRE(out.rank() > 0, op,
               ": a 0-d tensor cannot be joined along an axis; use stack");
  const int a = NormalizeAxis(op, axis, out.rank());
  for (size_t k = 1; k < xs.size(); ++k) {
    PROA_REQUIRE(xs[k].rank() == out.rank(), op, ": tensor ", k,
                 " does not have the rank of tensor 0; tensor 0 is ",
                 Describe(xs[0]), ", tensor ", k, " is ", Describe(xs[k]));
    for (int i = 0; i < out.rank(); ++i) {
      const int64_t n = xs[k].size(i);
      if (i == a) {
        out[i] = AddSizes(op, out[i], n);
      } else if (IsUnknown(out[i])) {
        out[i] = n;
      } else {
        PROA_REQUIRE(n == out[i] || IsUnknown(n), op, ": tensor ", k,
                     " does not fit at dim ", i, "; tensor 0 is ",
                     Describe(xs[0]), ", tensor ", k, " is ", Describe(xs[k]));
      }
    }
  }
  return out;
}

Shape stack(const char* op, std::span<const Tensor> xs, int64_t axis) {
  PROA_REQUIRE(!xs.empty(), op, ": the list of tensors is empty");
  Shape out = xs[0].shape();
  RequireRank(op, out.rank() + 1);
  const int a = NormalizeAxis(op, axis, out.rank() + 1);
  for (size_t k = 1; k < xs.size(); ++k) {
    bool good = xs[k].rank() == out.rank();
    for (int i = 0; good && i < out.rank(); ++i) {
      const int64_t n = xs[k].size(i);
      good = n == out[i] || IsUnknown(n) || IsUnknown(out[i]);
      if (IsUnknown(out[i])) out[i] = n;
    }
    PROA_REQUIRE(good, op, ": tensor ", k,
                 " does not have the shape of tensor 0; tensor 0 is ",
                 Describe(xs[0]), ", tensor ", k, " is ", Describe(xs[k]));
  }
  out.dims().insert(out.dims().begin() + a, static_cast<int64_t>(xs.size()));
  return out;
}

}  // namespace proa::inline v0::ops::infer
