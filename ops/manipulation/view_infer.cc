#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "ops/manipulation/slice_range.h"
#include "tensor/error.h"
#include "tensor/promotion.h"

namespace proa::inline v0::ops::infer {
namespace {

// As the caller wrote it: -1 is not an unknown size there.
std::string AsGiven(const IntArray& shape) {
  return absl::StrCat("[", absl::StrJoin(shape.values(), ", "), "]");
}

// reshape with a kept (0) or inferred (-1) size; see the schema for the rules.
Shape ReshapeOf(const char* op, const Tensor& x, const IntArray& shape) {
  const Shape& from = x.shape();
  Shape out(shape.values());
  int inferred = -1;
  bool literal_zero = false;
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] == -1) {
      PROA_REQUIRE(inferred < 0, op, ": more than one size is -1 in ",
                   AsGiven(shape), "; x is ", Describe(x));
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
    PROA_REQUIRE(IsUnknown(numel) || IsUnknown(filled) || filled == numel, op,
                 ": ", numel, " elements do not fill the shape ",
                 ToString(shape.values()), "; x is ", Describe(x));
    return out;
  }
  // Kept dims divide out on both sides, known or not, empty or not.
  PROA_REQUIRE(IsUnknown(rest) || rest % given == 0, op, ": ", numel,
               " elements do not divide into the shape ",
               ToString(shape.values()), "; x is ", Describe(x));
  if (given != 1) out[inferred] = IsUnknown(rest) ? kUnknownDim : rest / given;
  if (given == 1) out[inferred] = rest;
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

// A single unknown dim of a shape that has so many elements is a number, too.
void SetSingleUnknown(int64_t elements, Shape& shape) {
  int unknown = -1;
  int64_t others = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!IsUnknown(shape[i])) {
      others = CheckedMul(others, shape[i]);
    } else if (unknown < 0) {
      unknown = i;
    } else {
      return;
    }
  }
  // What does not fit is an error of the run.
  if (unknown < 0 || others == 0 || elements % others != 0) return;
  shape[unknown] = elements / others;
}

}  // namespace

Shape reshape(const char* op, const Tensor& x, const IntArray& shape) {
  RequireRank(op, shape.size());
  if (shape.is_symbolic()) {
    Shape out(shape.values());
    for (int64_t& d : out.dims()) {
      if (d <= 0 && !IsNamed(d)) d = kUnknownDim;
    }
    if (x.shape().known()) SetSingleUnknown(x.shape().numel(), out);
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
    PROA_REQUIRE(!IsUnknown(x.size(i)) || (chosen >> i & 1) == 0, op,
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
      // A dim of 1, or of what may be 1, may still grow.
      if (IsUnknown(out[i]) && n > 1) out[i] = n;
      if (out[i] < 0 && !IsNamed(out[i])) out[i] = kUnknownDim;
      continue;
    }
    if (out[i] == -1) {
      PROA_REQUIRE(i >= shift, op,
                   ": there is no dim to keep for the size -1 at ", i,
                   "; x is ", Describe(x));
      out[i] = n;
    }
    PROA_REQUIRE(out[i] >= 0 || IsUnknown(n), op, ": size ", out[i], " in ",
                 ToString(shape.values()),
                 "; a size is not negative, or -1 (kept)");
    PROA_REQUIRE(n == out[i] || n == 1 || IsUnknown(n), op, ": dim ", i - shift,
                 " of size ", n, " does not broadcast to ", out[i], "; x is ",
                 Describe(x));
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

std::vector<Shape> split(const char* op, const Tensor& x,
                         const IntArray& sections, int64_t axis) {
  PROA_REQUIRE(x.rank() > 0, op, ": a 0-d tensor cannot be split");
  const int a = NormalizeAxis(op, axis, x.rank());
  PROA_REQUIRE(sections.size() > 0, op, ": sections is empty");
  if (sections.is_symbolic()) {  // -1 is a section that is not known
    std::vector<Shape> parts(sections.size(), x.shape());
    for (int k = 0; k < sections.size(); ++k) parts[k][a] = sections[k];
    return parts;
  }
  int64_t total = 0;
  int rest = -1;
  for (int k = 0; k < sections.size(); ++k) {
    if (sections[k] == -1) {
      PROA_REQUIRE(rest < 0, op, ": more than one section is -1 in ",
                   ToString(sections.values()));
      rest = k;
      continue;
    }
    PROA_REQUIRE(sections[k] >= 0, op, ": section ", sections[k], " in ",
                 ToString(sections.values()), " is negative");
    total = AddSizes(op, total, sections[k]);
  }
  const int64_t n = x.size(a);
  PROA_REQUIRE(IsUnknown(n) || (rest < 0 ? total == n : total <= n), op,
               ": the sections ", ToString(sections.values()),
               " do not add up to ", n, " at dim ", a, "; x is ", Describe(x));
  std::vector<Shape> out(sections.size(), x.shape());
  for (int k = 0; k < sections.size(); ++k) {
    out[k][a] = k != rest      ? sections[k]
                : IsUnknown(n) ? kUnknownDim
                               : n - total;
  }
  return out;
}

std::vector<Shape> unbind(const char* op, const Tensor& x, int64_t axis) {
  PROA_REQUIRE(x.rank() > 0, op, ": a 0-d tensor cannot be unbound");
  const int a = NormalizeAxis(op, axis, x.rank());
  PROA_REQUIRE(!IsUnknown(x.size(a)), op, ": the size of dim ", a,
               " must be known; x is ", Describe(x));
  // Each part is a tensor, however few elements there are: of one that is
  // recorded, or has none, the size may be any number.
  const int64_t most = x.is_symbolic() ? 1 << 16 : 1 << 22;
  PROA_REQUIRE(x.size(a) <= most, op, ": there are ", x.size(a),
               " parts along dim ", a, ", and may be ", most,
               x.is_symbolic() ? " in a program" : "", "; x is ", Describe(x));
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
                                IsUnknown(x.size(x.rank() - 1))),
               op, ": the last dim must have size 2; x is ", Describe(x));
  Shape out = x.shape();
  out.dims().pop_back();
  return out;
}

DType complex_of(const char* op, const Tensor& x) {
  return ComplexType(x.dtype());
}

Shape view_dtype(const char* op, const Tensor& x, DType dtype) {
  PROA_REQUIRE(
      dtype != DType::kBool || x.dtype() == DType::kBool, op, ": bytes of ",
      Name(x.dtype()),
      " may be others than 0 and 1, which are all that bool has; x is ",
      Describe(x));
  const int64_t from = ItemSize(x.dtype()), to = ItemSize(dtype);
  if (from == to) return x.shape();
  PROA_REQUIRE(x.rank() > 0, op, ": a 0-d tensor of ", Name(x.dtype()),
               " has no last dim to become ", Name(dtype), "; x is ",
               Describe(x));
  Shape out = x.shape();
  int64_t& last = out[out.rank() - 1];
  if (IsUnknown(last)) return out;
  PROA_REQUIRE(last * from % to == 0, op, ": ", last, " elements of ",
               Name(x.dtype()), " in the last dim are no whole number of ",
               Name(dtype), "; x is ", Describe(x));
  last = last * from / to;
  return out;
}

}  // namespace proa::inline v0::ops::infer
