#include <span>

#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "tensor/error.h"
#include "tensor/memory_order.h"

namespace proa::inline v0::ops::infer {
namespace {

// Whether the channels of a pixel lie side by side, and pixels after one
// another: of images that lie channels-last, and of some of their channels.
bool HasChannelsInside(const Tensor& x) {
  if (x.rank() < 3 || x.rank() > 5 || x.layout() != Layout::kStrided) {
    return false;
  }
  if (x.size(1) > 1 && x.strides()[1] != 1) return false;
  int64_t least = x.size(1);
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (d == 1 || x.size(d) == 1) continue;
    if (x.strides()[d] < least) return false;
    least = x.strides()[d] * x.size(d);
  }
  return true;
}

}  // namespace

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

MemoryOrder order_of_joined(const char*, std::span<const Tensor> xs) {
  int64_t more = 0;  // elements of those that lie channels-last
  for (const Tensor& x : xs) {
    const bool last = HasChannelsInside(x);
    // One channel or one pixel has no order.
    if (last && x.is_contiguous()) continue;
    more += last ? x.numel() : -x.numel();
  }
  return more > 0 ? MemoryOrder::kChannelsLast : MemoryOrder::kRowMajor;
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
