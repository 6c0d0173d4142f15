// Checks that shape rules of boxes share. Unknown sizes fit everything.
#ifndef PROA_OPS_VISION_VISION_CHECKS_H_
#define PROA_OPS_VISION_VISION_CHECKS_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

inline bool Fit(int64_t a, int64_t b) {
  return IsUnknown(a) || IsUnknown(b) || a == b;
}

inline bool HasShape(const Tensor& t, std::initializer_list<int64_t> wanted) {
  bool fits = t.rank() == static_cast<int>(wanted.size());
  int i = 0;
  for (const int64_t size : wanted) fits = fits && Fit(t.size(i++), size);
  return fits;
}

inline void RequireDTypeOf(const char* op, const char* name, const Tensor& t,
                           const char* other_name, const Tensor& other) {
  if (t.dtype() == other.dtype()) return;
  ThrowTypeError(std::string(op) + ": " + name + " must have the dtype of " +
                 other_name + "; " + other_name + " is " + Describe(other) +
                 ", " + name + " is " + Describe(t));
}

inline void RequireInt(const char* op, const char* name, const Tensor& t) {
  if (t.dtype() == DType::kInt32 || t.dtype() == DType::kInt64) return;
  ThrowTypeError(std::string(op) + ": " + name +
                 " must be int32 or int64; it is " + Describe(t));
}

template <typename Number>
void RequirePositive(const char* op, const char* name,
                     std::span<const Number> numbers) {
  for (const Number v : numbers) {
    PROA_REQUIRE(v > 0, op, ": ", name, " must be positive; one is ", v);
  }
}

// The product of sizes, unknown where one is and none is 0.
inline int64_t Product(std::initializer_list<int64_t> sizes) {
  int64_t out = 1;
  bool unknown = false;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    unknown = unknown || IsUnknown(size);
    if (!unknown) out = CheckedMul(out, size);
  }
  return unknown ? kUnknownDim : out;
}

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_VISION_VISION_CHECKS_H_
