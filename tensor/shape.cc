#include "tensor/shape.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

[[noreturn]] __attribute__((cold, noinline)) void FailOverflow() {
  FailArgument("size overflows int64");
}

[[noreturn]] __attribute__((cold, noinline)) void FailSizes(
    const Shape& shape) {
  for (int64_t d : shape) {
    if (d < 0) {
      FailArgument("shape: size ", d, " in ", ToString(shape), " is negative");
    }
  }
  FailArgument("shape: size overflows int64; shape is ", ToString(shape));
}

}  // namespace

bool Shape::known() const {
  for (int64_t d : dims_) {
    if (IsUnknown(d)) return false;
  }
  return true;
}

bool Shape::identified() const {
  for (int64_t d : dims_) {
    if (d == kUnknownDim) return false;
  }
  return true;
}

int64_t Shape::numel() const {
  // Most calls: two known dims at most, whose product no number exceeds.
  if (dims_.size() <= 2) {
    const int64_t a = dims_.empty() ? 1 : dims_[0];
    const int64_t b = dims_.size() < 2 ? 1 : dims_[1];
    if (static_cast<uint64_t>(a | b) >> 31 == 0) [[likely]]
      return a * b;
  }
  // A dim of size 0 makes the product 0 whatever the others are, as in
  // mathematics; so overflow is only looked at in the end.
  int64_t n = 1;
  bool overflow = false, zero = false, unknown = false, negative = false;
  for (int64_t d : dims_) {
    overflow |= __builtin_mul_overflow(n, d, &n);
    zero |= d == 0;
    unknown |= IsUnknown(d) && d != NamedDim(0);
    negative |= d < 0;
  }
  if (negative | overflow) [[unlikely]] {
    for (int64_t d : dims_) {
      // The recorder gives no dim the name 0: the least of all numbers is what
      // users pass to see what happens.
      if (d < 0 && (!IsUnknown(d) || d == NamedDim(0))) FailSizes(*this);
    }
    if (unknown) return kUnknownDim;
    if (zero) return 0;
    FailSizes(*this);
  }
  return n;
}

Strides ContiguousStrides(const Shape& shape) {
  Strides strides = shape.dims();
  // Most calls, as in numel.
  if (shape.rank() <= 2 && shape.rank() > 0 &&
      static_cast<uint64_t>(strides[0] | strides.back()) >> 31 == 0)
      [[likely]] {
    strides[0] = std::max<int64_t>(strides.back(), 1);
    strides.back() = 1;
    return strides;
  }
  int64_t step = 1;
  bool overflow = false;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int64_t d = strides[i];
    strides[i] = step;
    overflow |= __builtin_mul_overflow(step, d > 1 ? d : 1, &step);
  }
  if (overflow) [[unlikely]]
    FailSizes(shape);
  return strides;
}

bool IsContiguous(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  bool contiguous = true;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int64_t d = shape[i];
    if (d == 0) return true;  // nothing to be out of order
    if (d == 1) continue;     // its stride is never used
    contiguous &= strides[i] == step;
    // Wraps for shapes that no tensor can have; those are not contiguous
    // anyway.
    step = static_cast<int64_t>(static_cast<uint64_t>(step) *
                                static_cast<uint64_t>(d));
  }
  return contiguous;
}

bool ShapesFit(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (Differ(a[i], b[i])) return false;
  }
  return true;
}

std::string ToString(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    if (IsUnknown(dims[i])) {
      text += '?';
    } else {
      absl::StrAppend(&text, dims[i]);
    }
  }
  text += ']';
  return text;
}

std::string ToString(const Shape& shape) { return ToString(shape.span()); }

int64_t CheckedMul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) [[unlikely]]
    FailOverflow();
  return r;
}

int64_t CheckedAdd(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) [[unlikely]]
    FailOverflow();
  return r;
}

Shape BroadcastShapes(std::string_view op, const Shape& x, const Shape& y) {
  const bool x_longer = x.rank() >= y.rank();
  Shape out = x_longer ? x : y;
  const Shape& other = x_longer ? y : x;
  const int shift = out.rank() - other.rank();
  for (int i = 0; i < other.rank(); ++i) {
    const int64_t a = out[i + shift];
    const int64_t b = other[i];
    // One row of the table a case; a and b may change sides.
    if (a == b || b == 1) continue;  // (n, n), (n, 1), (?, ?), (?, 1)
    if (a == 1 || (IsUnknown(a) && !IsUnknown(b))) {
      out[i + shift] = b;  // (1, n), (1, ?); (?, n): n, checked when run
    } else if (IsUnknown(a)) {
      out[i + shift] = kUnknownDim;  // one of them may be 1
    } else if (!IsUnknown(b)) {
      FailArgument(op, ": shapes do not broadcast at dim ", i + shift,
                   "; x is ", ToString(x), ", y is ", ToString(y));
    }
  }
  return out;
}

int NormalizeAxis(std::string_view op, int64_t axis, int rank) {
  const int64_t n = std::max(rank, 1);
  if (axis < -n || axis >= n) [[unlikely]] {
    Fail(absl::StatusCode::kOutOfRange, op, ": axis ", axis,
         " is out of range for a tensor of ", rank, " dims; use ", -n, " to ",
         n - 1);
  }
  return static_cast<int>(axis < 0 ? axis + n : axis);
}

}  // namespace proa::inline v0
