#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
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

}  // namespace proa::inline v0::ops::infer
