#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

PadMode ParsePadMode(const char* op, std::string_view mode) {
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "replicate") return PadMode::kReplicate;
  if (mode == "circular") return PadMode::kCircular;
  FailArgument(op, ": unknown mode '", mode,
               "'; use constant, reflect, replicate or circular");
}

Shape PaddedShape(const char* op, const Shape& shape, Ints paddings,
                  std::string_view mode_name, const std::string& described) {
  const PadMode mode = ParsePadMode(op, mode_name);
  PROA_REQUIRE(paddings.size() == 2 * shape.dims().size(), op,
               ": paddings has ", paddings.size(), " entries, ",
               2 * shape.rank(), " are needed; x is ", described);
  Shape out = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t n = shape[i];
    for (int64_t p : {paddings[2 * i], paddings[2 * i + 1]}) {
      if (p == 0 || mode == PadMode::kConstant) continue;
      PROA_REQUIRE(p > 0, op, ": padding ", p, " of dim ", i,
                   " is negative, which mode ", mode_name, " does not take");
      if (IsUnknown(n)) continue;
      const bool fits = mode == PadMode::kReflect ? p < n : n > 0;
      PROA_REQUIRE(fits, op, ": padding ", p, " of dim ", i,
                   " is too large for mode ", mode_name, "; x is ", described);
    }
    if (IsUnknown(n)) {
      const bool padded = paddings[2 * i] != 0 || paddings[2 * i + 1] != 0;
      if (padded) out[i] = kUnknownDim;
      continue;
    }
    // Checked from both sides: what one side cuts off the other cannot give
    // back.
    PROA_REQUIRE(n + std::min<int64_t>(paddings[2 * i], 0) >= 0 &&
                     n + std::min<int64_t>(paddings[2 * i], 0) +
                             std::min<int64_t>(paddings[2 * i + 1], 0) >=
                         0,
                 op, ": paddings ", ToString(paddings),
                 " cut off more than there is at dim ", i, "; x is ",
                 described);
    int64_t size;
    if (__builtin_add_overflow(n, paddings[2 * i], &size) ||
        __builtin_add_overflow(size, paddings[2 * i + 1], &size)) {
      FailArgument(op, ": size overflows int64");
    }
    out[i] = size;
  }
  return out;
}

Shape TiledShape(const char* op, const Shape& shape, const IntArray& repeats) {
  const int rank = std::max(shape.rank(), repeats.size());
  RequireRank(op, rank);
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int d = i - (rank - shape.rank()), r = i - (rank - repeats.size());
    const int64_t n = d >= 0 ? shape[d] : 1;
    const int64_t times = r >= 0 ? repeats[r] : 1;
    if (times < 0 && repeats.is_symbolic()) {
      out.push_back(kUnknownDim);
      continue;
    }
    PROA_REQUIRE(times >= 0, op, ": repeat ", times, " at position ", r,
                 " is negative");
    out.push_back(MulSizes(op, n, times));
  }
  return out;
}

// Size of the repeated dim of `n` elements.
int64_t RepeatedSize(const char* op, int64_t n, const IntArray& repeats,
                     const std::string& described) {
  if (!repeats.is_symbolic()) {
    for (int i = 0; i < repeats.size(); ++i) {
      PROA_REQUIRE(repeats[i] >= 0, op, ": repeat ", repeats[i],
                   " at position ", i, " is negative");
    }
    if (repeats.size() == 1) return MulSizes(op, n, repeats[0]);
  }
  // One -1 of a symbolic array may stand for a length that is not known.
  if (repeats.is_symbolic()) return kUnknownDim;
  PROA_REQUIRE(IsUnknown(n) || repeats.size() == n, op, ": ", repeats.size(),
               " repeats for ", n, " elements; x is ", described);
  int64_t total = 0;
  for (int i = 0; i < repeats.size(); ++i)
    total = AddSizes(op, total, repeats[i]);
  return total;
}

Shape RepeatedShape(const char* op, const Shape& shape, const IntArray& repeats,
                    std::optional<int64_t> axis, const std::string& described) {
  if (!axis.has_value() || shape.rank() == 0) {
    if (axis.has_value()) NormalizeAxis(op, *axis, shape.rank());
    return {RepeatedSize(op, shape.numel(), repeats, described)};
  }
  Shape out = shape;
  const int a = NormalizeAxis(op, *axis, shape.rank());
  out[a] = RepeatedSize(op, shape[a], repeats, described);
  return out;
}

}  // namespace

Shape flip(const char* op, const Tensor& x, Ints axis) {
  uint64_t seen = 0;
  for (int64_t a : axis) {
    const int i = NormalizeAxis(op, a, x.rank());
    PROA_REQUIRE((seen >> i & 1) == 0, op, ": axis ", i,
                 " is given twice; axis is ", ToString(axis));
    seen |= uint64_t{1} << i;
  }
  return x.shape();
}

Shape roll(const char* op, const Tensor& x, Ints shifts, Ints axis) {
  if (axis.empty()) {
    PROA_REQUIRE(shifts.size() == 1, op, ": without axes takes one shift, not ",
                 shifts.size(), "; x is ", Describe(x));
    return x.shape();
  }
  PROA_REQUIRE(shifts.size() == axis.size(), op, ": ", shifts.size(),
               " shifts for ", axis.size(), " axes; x is ", Describe(x));
  for (int64_t a : axis) NormalizeAxis(op, a, x.rank());
  return x.shape();
}

Shape tile(const char* op, const Tensor& x, const IntArray& repeat_times) {
  return TiledShape(op, x.shape(), repeat_times);
}

Shape tile_grad(const char* op, const Tensor& dy, const IntArray& shape,
                const IntArray& repeat_times) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy, TiledShape(op, out, repeat_times),
               "the tiled tensor");
  return out;
}

Shape repeat_interleave(const char* op, const Tensor& x,
                        const IntArray& repeats, std::optional<int64_t> axis) {
  return RepeatedShape(op, x.shape(), repeats, axis, Describe(x));
}

Shape repeat_interleave_grad(const char* op, const Tensor& dy,
                             const IntArray& shape, const IntArray& repeats,
                             std::optional<int64_t> axis) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy,
               RepeatedShape(op, out, repeats, axis, ToString(out)),
               "the repeated tensor");
  return out;
}

Shape pad(const char* op, const Tensor& x, Ints paddings,
          std::string_view mode) {
  return PaddedShape(op, x.shape(), paddings, mode, Describe(x));
}

Shape pad_grad(const char* op, const Tensor& dy, const IntArray& shape,
               Ints paddings, std::string_view mode) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy,
               PaddedShape(op, out, paddings, mode, ToString(out)),
               "the padded tensor");
  return out;
}

}  // namespace proa::inline v0::ops::infer
