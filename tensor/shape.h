// Shape and Strides: small vectors of int64 sizes, with overflow-checked
// arithmetic. A dim of a symbolic tensor may be unknown; a tensor with storage
// has only known dims.
#ifndef PROA_TENSOR_SHAPE_H_
#define PROA_TENSOR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"

namespace proa::inline v0 {

// An unknown dim of which nothing else is known.
inline constexpr int64_t kUnknownDim = -1;
// Unknown dims with a name: where the same one stands, there is the same size
// whenever the program runs. Shape inference hands them on as it does sizes and
// computes with none of them: what it computes of an unknown dim is
// kUnknownDim, to which the recorder gives a new name.
inline constexpr int64_t kMostNamedDims = int64_t{1} << 60;
constexpr int64_t NamedDim(int64_t name) { return INT64_MIN + name; }
constexpr bool IsNamed(int64_t dim) { return dim < INT64_MIN + kMostNamedDims; }
constexpr bool IsUnknown(int64_t dim) {
  return dim == kUnknownDim || IsNamed(dim);
}
// True if both are known, and different.
constexpr bool Differ(int64_t a, int64_t b) {
  return a != b && !IsUnknown(a) && !IsUnknown(b);
}

// Inline up to six dims; more are allowed up to kMaxRank.
using DimVector = absl::InlinedVector<int64_t, 6>;
inline constexpr int kMaxRank = 64;

class Shape {
 public:
  Shape() = default;  // 0-d: one element
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::span<const int64_t> dims)
      : dims_(dims.begin(), dims.end()) {}
  explicit Shape(DimVector dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  const int64_t* data() const { return dims_.data(); }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  std::span<const int64_t> span() const { return {dims_.data(), dims_.size()}; }
  operator std::span<const int64_t>() const { return span(); }
  void push_back(int64_t d) { dims_.push_back(d); }
  DimVector& dims() { return dims_; }
  const DimVector& dims() const { return dims_; }

  // False if a dim is unknown.
  bool known() const;
  // True if each dim is known or has a name: equal shapes are equal sizes.
  bool identified() const;
  // Product of the dims; 1 for 0-d, kUnknownDim unless known(). Throws Error if
  // the product does not fit in int64.
  int64_t numel() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.dims_ == b.dims_;
  }

 private:
  DimVector dims_;
};

// In elements, may be zero (broadcast) or negative (flip).
using Strides = DimVector;

// Row-major strides. Dims of size 0 count as 1, so that strides stay positive.
Strides ContiguousStrides(const Shape& shape);
bool IsContiguous(const Shape& shape, const Strides& strides);

// Equal as far as is known: the ranks are, and where both dims are known.
bool ShapesFit(const Shape& a, const Shape& b);

// "[2, 3]"; unknown dims print as "?".
std::string ToString(const Shape& shape);
std::string ToString(std::span<const int64_t> dims);

// a * b and a + b, or Error kInvalidArgument "size overflows int64".
int64_t CheckedMul(int64_t a, int64_t b);
int64_t CheckedAdd(int64_t a, int64_t b);

// The NumPy broadcasting rule (the one table). Unknown dims: known > 1 wins,
// unknown with 1 is the unknown one, two that are not the same are unknown.
// Throws Error
// "<op>: shapes do not broadcast at dim 1; x is [2, 3], y is [2, 4]".
Shape BroadcastShapes(std::string_view op, const Shape& x, const Shape& y);

// Maps axis in [-rank, rank) to [0, rank); rank 0 counts as 1. Throws Error
// kOutOfRange "<op>: axis 3 is out of range for a tensor of 2 dims; ...".
int NormalizeAxis(std::string_view op, int64_t axis, int rank);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_SHAPE_H_
