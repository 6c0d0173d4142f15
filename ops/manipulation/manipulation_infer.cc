#include "ops/manipulation/manipulation_infer.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/infer.h"
#include "ops/manipulation/slice_range.h"
#include "tensor/error.h"
#include "tensor/promotion.h"

namespace proa::inline v0::ops::infer {
namespace {

// reshape with a kept (0) or inferred (-1) size; see the schema for the rules.
Shape ReshapeOf(const char* op, const Tensor& x, const IntArray& shape) {
  const Shape& from = x.shape();
  Shape out(shape.values());
  int inferred = -1;
  bool literal_zero = false;
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] == -1) {
      PROA_REQUIRE(inferred < 0, op, ": more than one size is -1 in ",
                   ToString(shape.values()), "; x is ", Describe(x));
      inferred = i;
    }
    literal_zero |= out[i] == 0;
  }
  const int64_t numel = from.numel();
  if (numel == 0 && inferred < 0 && literal_zero) return out;
  int64_t rest = 1;   // product of the dims of x that are not kept
  int64_t given = 1;  // product of the sizes that are neither kept nor inferred
  int64_t filled = 1;  // product of all sizes but the inferred one
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] == 0) {
      PROA_REQUIRE(i < from.rank(), op, ": there is no dim ", i,
                   " to keep for the size 0 in ", ToString(shape.values()),
                   "; x is ", Describe(x));
      out[i] = from[i];
    } else if (i != inferred) {
      given = MulSizes(op, given, out[i]);
    }
    if (i != inferred) filled = MulSizes(op, filled, out[i]);
  }
  for (int i = 0; i < from.rank(); ++i) {
    const bool kept = i < out.rank() && shape[i] == 0;
    if (!kept) rest = MulSizes(op, rest, from[i]);
  }
  if (inferred < 0) {
    PROA_REQUIRE(
        numel == kUnknownDim || filled == kUnknownDim || filled == numel, op,
        ": ", numel, " elements do not fill the shape ",
        ToString(shape.values()), "; x is ", Describe(x));
    return out;
  }
  // Kept dims divide out on both sides, known or not, empty or not.
  PROA_REQUIRE(rest == kUnknownDim || rest % given == 0, op, ": ", numel,
               " elements do not divide into the shape ",
               ToString(shape.values()), "; x is ", Describe(x));
  out[inferred] = rest == kUnknownDim ? kUnknownDim : rest / given;
  return out;
}

// perm with negative entries made positive; empty means reversed.
DimVector NormalizePerm(const char* op, const Tensor& x, Ints perm) {
  const int rank = x.rank();
  DimVector out;
  uint64_t seen = 0;
  bool good = perm.empty() || static_cast<int>(perm.size()) == rank;
  if (perm.empty()) {
    for (int i = rank - 1; i >= 0; --i) out.push_back(i);
  }
  for (size_t k = 0; good && k < perm.size(); ++k) {
    const int64_t p = perm[k];
    if (p < -rank || p >= rank) {
      good = false;
      break;
    }
    const int axis = static_cast<int>(p < 0 ? p + rank : p);
    good = (seen >> axis & 1) == 0;
    seen |= uint64_t{1} << axis;
    out.push_back(axis);
  }
  PROA_REQUIRE(good, op, ": perm ", ToString(perm),
               " is not a permutation of the ", rank, " dims; x is ",
               Describe(x));
  return out;
}

void RequireRank(const char* op, int64_t rank) {
  PROA_REQUIRE(rank <= kMaxRank, op, ": the result has ", rank,
               " dims, more than ", kMaxRank);
}

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
      if (n == kUnknownDim) continue;
      const bool fits = mode == PadMode::kReflect    ? p < n
                        : mode == PadMode::kCircular ? p <= n
                                                     : n > 0;
      PROA_REQUIRE(fits, op, ": padding ", p, " of dim ", i,
                   " is too large for mode ", mode_name, "; x is ", described);
    }
    if (n == kUnknownDim) continue;
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
  PROA_REQUIRE(n == kUnknownDim || repeats.size() == n, op, ": ",
               repeats.size(), " repeats for ", n, " elements; x is ",
               described);
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

// Pieces --------------------------------------------------------------------

int64_t MulSizes(const char* op, int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) {
    FailArgument(op, ": size overflows int64");
  }
  return r;
}

int64_t AddSizes(const char* op, int64_t a, int64_t b) {
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) {
    FailArgument(op, ": size overflows int64");
  }
  return r;
}

void RequireShape(const char* op, const char* name, const Tensor& t,
                  const Shape& expected, const char* what) {
  bool good = t.rank() == expected.rank();
  for (int i = 0; good && i < t.rank(); ++i) {
    good = t.size(i) == expected[i] || t.size(i) == kUnknownDim ||
           expected[i] == kUnknownDim;
  }
  PROA_REQUIRE(good, op, ": ", name, " does not have the shape of ", what, ", ",
               ToString(expected), "; ", name, " is ", Describe(t));
}

// Views ---------------------------------------------------------------------

Shape reshape(const char* op, const Tensor& x, const IntArray& shape) {
  RequireRank(op, shape.size());
  if (shape.is_symbolic()) {
    Shape out(shape.values());
    for (int64_t& d : out.dims()) {
      if (d <= 0) d = kUnknownDim;
    }
    return out;
  }
  for (int64_t d : shape.values()) {
    PROA_REQUIRE(d >= -1, op, ": size ", d, " in ", ToString(shape.values()),
                 "; a size is positive, 0 (kept) or -1 (inferred); x is ",
                 Describe(x));
  }
  return ReshapeOf(op, x, shape);
}

Shape transpose(const char* op, const Tensor& x, Ints perm) {
  Shape out;
  for (int64_t p : NormalizePerm(op, x, perm)) out.push_back(x.size(p));
  return out;
}

Shape transpose_grad(const char* op, const Tensor& dy, Ints perm) {
  const DimVector p = NormalizePerm(op, dy, perm);
  Shape out = dy.shape();
  for (int i = 0; i < dy.rank(); ++i) out[p[i]] = dy.size(i);
  return out;
}

Shape squeeze(const char* op, const Tensor& x, Ints axis) {
  uint64_t chosen = axis.empty() ? ~uint64_t{0} : 0;
  for (int64_t a : axis)
    chosen |= uint64_t{1} << NormalizeAxis(op, a, x.rank());
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    // Whether the dim stays decides the rank of the result.
    PROA_REQUIRE(x.size(i) != kUnknownDim || (chosen >> i & 1) == 0, op,
                 ": the size of dim ", i,
                 " must be known, or another axis named; x is ", Describe(x));
    if (x.size(i) != 1 || (chosen >> i & 1) == 0) out.push_back(x.size(i));
  }
  return out;
}

Shape unsqueeze(const char* op, const Tensor& x, Ints axis) {
  RequireRank(op, x.rank() + static_cast<int64_t>(axis.size()));
  Shape out = x.shape();
  for (int64_t a : axis) {
    const int i = NormalizeAxis(op, a, out.rank() + 1);
    out.dims().insert(out.dims().begin() + i, 1);
  }
  return out;
}

Shape flatten(const char* op, const Tensor& x, int64_t start_axis,
              int64_t stop_axis) {
  const int start = NormalizeAxis(op, start_axis, x.rank());
  const int stop = NormalizeAxis(op, stop_axis, x.rank());
  PROA_REQUIRE(start <= stop, op, ": start_axis ", start_axis,
               " is after stop_axis ", stop_axis, "; x is ", Describe(x));
  if (x.rank() == 0) return {1};
  Shape out;
  int64_t joined = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < start || i > stop) {
      out.push_back(x.size(i));
      continue;
    }
    joined = MulSizes(op, joined, x.size(i));
    if (i == stop) out.push_back(joined);
  }
  return out;
}

Shape broadcast_to(const char* op, const Tensor& x, const IntArray& shape) {
  RequireRank(op, shape.size());
  const int shift = shape.size() - x.rank();
  PROA_REQUIRE(shift >= 0, op, ": x has more dims than the shape ",
               ToString(shape.values()), "; x is ", Describe(x));
  Shape out(shape.values());
  for (int i = 0; i < out.rank(); ++i) {
    const int64_t n = i >= shift ? x.size(i - shift) : 1;
    if (shape.is_symbolic()) {
      if (out[i] < 0 && n != 1) out[i] = n;  // a dim of 1 may still grow
      continue;
    }
    if (out[i] == -1) {
      PROA_REQUIRE(i >= shift, op,
                   ": there is no dim to keep for the size -1 at ", i,
                   "; x is ", Describe(x));
      out[i] = n;
    }
    PROA_REQUIRE(out[i] >= 0 || n == kUnknownDim, op, ": size ", out[i], " in ",
                 ToString(shape.values()),
                 "; a size is not negative, or -1 (kept)");
    PROA_REQUIRE(n == out[i] || n == 1 || n == kUnknownDim, op, ": dim ",
                 i - shift, " of size ", n, " does not broadcast to ", out[i],
                 "; x is ", Describe(x));
  }
  out.numel();  // a view of more elements than int64 counts is refused
  return out;
}

Shape slice(const char* op, const Tensor& x, Ints axes, Ints starts, Ints ends,
            Ints strides) {
  return ResolveSlices(op, x.shape(), {}, axes, starts, ends, strides).shape;
}

Shape slice_grad(const char* op, const Tensor& dy, const IntArray& shape,
                 Ints axes, Ints starts, Ints ends, Ints strides) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy,
               ResolveSlices(op, out, {}, axes, starts, ends, strides).shape,
               "the part");
  return out;
}

Shape diagonal(const char* op, const Tensor& x, int64_t offset, int64_t axis1,
               int64_t axis2) {
  PROA_REQUIRE(x.rank() >= 2, op, ": x needs 2 dims or more; x is ",
               Describe(x));
  return ResolveDiagonal(op, x.shape(), {}, offset, axis1, axis2).shape;
}

Shape diagonal_grad(const char* op, const Tensor& dy, const IntArray& shape,
                    int64_t offset, int64_t axis1, int64_t axis2) {
  const Shape out = sizes(op, shape);
  PROA_REQUIRE(out.rank() >= 2, op, ": the shape needs 2 dims or more; it is ",
               ToString(out));
  RequireShape(op, "dy", dy,
               ResolveDiagonal(op, out, {}, offset, axis1, axis2).shape,
               "the diagonal");
  return out;
}

std::vector<Shape> split(const char* op, const Tensor& x, Ints sections,
                         int64_t axis) {
  PROA_REQUIRE(x.rank() > 0, op, ": a 0-d tensor cannot be split");
  const int a = NormalizeAxis(op, axis, x.rank());
  PROA_REQUIRE(!sections.empty(), op, ": sections is empty");
  int64_t total = 0;
  int rest = -1;
  for (size_t k = 0; k < sections.size(); ++k) {
    if (sections[k] == -1) {
      PROA_REQUIRE(rest < 0, op, ": more than one section is -1 in ",
                   ToString(sections));
      rest = static_cast<int>(k);
      continue;
    }
    PROA_REQUIRE(sections[k] >= 0, op, ": section ", sections[k], " in ",
                 ToString(sections), " is negative");
    total = AddSizes(op, total, sections[k]);
  }
  const int64_t n = x.size(a);
  PROA_REQUIRE(n == kUnknownDim || (rest < 0 ? total == n : total <= n), op,
               ": the sections ", ToString(sections), " do not add up to ", n,
               " at dim ", a, "; x is ", Describe(x));
  std::vector<Shape> out(sections.size(), x.shape());
  for (size_t k = 0; k < sections.size(); ++k) {
    out[k][a] = static_cast<int>(k) != rest ? sections[k]
                : n == kUnknownDim          ? kUnknownDim
                                            : n - total;
  }
  return out;
}

std::vector<Shape> unbind(const char* op, const Tensor& x, int64_t axis) {
  PROA_REQUIRE(x.rank() > 0, op, ": a 0-d tensor cannot be unbound");
  const int a = NormalizeAxis(op, axis, x.rank());
  PROA_REQUIRE(x.size(a) != kUnknownDim, op, ": the size of dim ", a,
               " must be known; x is ", Describe(x));
  Shape part = x.shape();
  part.dims().erase(part.dims().begin() + a);
  return std::vector<Shape>(x.size(a), part);
}

Shape as_real(const char* op, const Tensor& x) {
  RequireRank(op, x.rank() + 1);
  Shape out = x.shape();
  out.push_back(2);
  return out;
}

Shape as_complex(const char* op, const Tensor& x) {
  PROA_REQUIRE(x.rank() > 0 && (x.size(x.rank() - 1) == 2 ||
                                x.size(x.rank() - 1) == kUnknownDim),
               op, ": the last dim must have size 2; x is ", Describe(x));
  Shape out = x.shape();
  out.dims().pop_back();
  return out;
}

DType complex_of(const char* op, const Tensor& x) {
  return ComplexType(x.dtype());
}

// Joins ---------------------------------------------------------------------

// Parts by strides ------------------------------------------------------------

namespace {

// Throws unless all elements of the part are among the `numel` of what it is a
// part of. Unknown sizes (a symbolic tensor's) are left to the kernel.
void RequireInside(const char* op, const Tensor& x, const Shape& part,
                   Ints strides, int64_t offset, int64_t numel) {
  PROA_REQUIRE(static_cast<int>(strides.size()) == part.rank(), op, ": ",
               strides.size(), " strides for ", part.rank(), " dims; shape is ",
               ToString(part));
  if (numel < 0 || part.numel() <= 0) return;  // unknown, or no elements
  // In 128 bits; the first dim that leaves decides, before sums overflow too.
  __int128 low = offset, high = offset;
  for (int i = 0; i < part.rank() && low >= 0 && high < numel; ++i) {
    const __int128 reach = static_cast<__int128>(part[i] - 1) * strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (low >= 0 && high < numel) return;
  const __int128 far = low < 0 ? low : high;
  const int64_t element = far > std::numeric_limits<int64_t>::max()
                              ? std::numeric_limits<int64_t>::max()
                          : far < std::numeric_limits<int64_t>::min()
                              ? std::numeric_limits<int64_t>::min()
                              : static_cast<int64_t>(far);
  FailArgument(op, ": the part reaches element ", element, " of ", numel, "; ",
               "x is ", Describe(x), ", shape is ", ToString(part),
               ", strides are ", ToString(strides), ", offset is ", offset);
}

// Throws if a dim steps less far than the dims with smaller steps reach
// together: then elements may be one and the same.
void RequireDistinct(const char* op, const Shape& part, Ints strides) {
  if (part.numel() <= 0) return;
  absl::InlinedVector<std::pair<int64_t, int64_t>, 6> dims;  // step, size
  for (int i = 0; i < part.rank(); ++i) {
    if (part[i] > 1) dims.emplace_back(std::abs(strides[i]), part[i]);
  }
  std::sort(dims.begin(), dims.end());
  __int128 reach = 0;
  for (const auto& [step, size] : dims) {
    PROA_REQUIRE(step > reach, op,
                 ": elements of the part are one and the same; shape is ",
                 ToString(part), ", strides are ", ToString(strides));
    reach += static_cast<__int128>(step) * (size - 1);
  }
}

}  // namespace

Shape as_strided(const char* op, const Tensor& x, const IntArray& shape,
                 Ints strides, int64_t offset) {
  const Shape part = sizes(op, shape);
  RequireInside(op, x, part, strides, offset, x.numel());
  return part;
}

Shape as_strided_grad(const char* op, const Tensor& dy, const IntArray& shape,
                      Ints strides, int64_t offset) {
  const Shape out = sizes(op, shape);
  RequireInside(op, dy, dy.shape(), strides, offset, out.numel());
  return out;
}

Shape as_strided_set(const char* op, const Tensor& x, const Tensor& value,
                     const IntArray& shape, Ints strides, int64_t offset) {
  if (value.dtype() != x.dtype()) {
    ThrowTypeError(std::string(op) + ": value must have the dtype of x; x is " +
                   Describe(x) + ", value is " + Describe(value));
  }
  const Shape part = sizes(op, shape);
  RequireInside(op, x, part, strides, offset, x.numel());
  RequireDistinct(op, part, strides);
  const int shift = part.rank() - value.rank();
  bool fits = shift >= 0;
  for (int i = 0; fits && i < value.rank(); ++i) {
    const int64_t from = value.size(i), to = part[i + shift];
    fits = from == to || from == 1 || from < 0 || to < 0;
  }
  PROA_REQUIRE(fits, op, ": value does not broadcast to the part, ",
               ToString(part), "; value is ", Describe(value));
  return x.shape();
}

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
      } else if (out[i] == kUnknownDim) {
        out[i] = n;
      } else {
        PROA_REQUIRE(n == out[i] || n == kUnknownDim, op, ": tensor ", k,
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
      good = n == out[i] || n == kUnknownDim || out[i] == kUnknownDim;
      if (out[i] == kUnknownDim) out[i] = n;
    }
    PROA_REQUIRE(good, op, ": tensor ", k,
                 " does not have the shape of tensor 0; tensor 0 is ",
                 Describe(xs[0]), ", tensor ", k, " is ", Describe(xs[k]));
  }
  out.dims().insert(out.dims().begin() + a, static_cast<int64_t>(xs.size()));
  return out;
}

// Arrangements --------------------------------------------------------------

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

// Triangles -----------------------------------------------------------------

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

// Sizes ---------------------------------------------------------------------

Shape rank_of(const char* op, const Tensor& x) { return {x.rank()}; }
Shape scalar(const char* op, const Tensor& x) { return {}; }

}  // namespace proa::inline v0::ops::infer
