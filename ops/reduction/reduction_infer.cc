#include "ops/reduction/reduction_infer.h"

#include <cmath>
#include <string>

#include "ops/infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

bool HasZero(const Shape& shape) {
  for (const int64_t d : shape) {
    if (d == 0) return true;
  }
  return false;
}

void RequireElements(const char* op, const Tensor& x, const Shape& out) {
  PROA_REQUIRE(!HasZero(x.shape()) || HasZero(out), op,
               ": the reduced dims have no elements; x is ", Describe(x));
}

}  // namespace

Shape reduce_nonempty(const char* op, const Tensor& x,
                      std::span<const int64_t> axis, bool keepdim) {
  // Dropped, not kept as 1: a kept dim would hide whether results are asked
  // for.
  RequireElements(op, x, reduce(op, x, axis, false));
  return reduce(op, x, axis, keepdim);
}

Shape p_norm(const char* op, const Tensor& x, double p,
             std::span<const int64_t> axis, bool keepdim) {
  PROA_REQUIRE(!std::isnan(p), op, ": p must be a number or inf; x is ",
               Describe(x));
  return std::isinf(p) ? reduce_nonempty(op, x, axis, keepdim)
                       : reduce(op, x, axis, keepdim);
}

Shape reduce_one(const char* op, const Tensor& x, std::optional<int64_t> axis,
                 bool keepdim) {
  RequireElements(op, x, reduce(op, x, axis, false));
  return reduce(op, x, axis, keepdim);
}

Shape sum_to(const char* op, const Tensor& x, const IntArray& shape) {
  const Shape to = sizes(op, shape);
  const int lead = x.rank() - to.rank();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < to.rank(); ++d) {
    const int64_t from = x.size(lead + d);
    fits = to[d] == 1 || to[d] == from || IsUnknown(to[d]) || IsUnknown(from);
  }
  PROA_REQUIRE(fits, op, ": ", ToString(to),
               " does not broadcast to the shape of x; x is ", Describe(x));
  return to;
}

Shape scan(const char* op, const Tensor& x, std::optional<int64_t> axis) {
  if (axis.has_value()) return along(op, x, *axis);
  return Shape{x.shape().numel()};
}

Shape running_softmax(const char* op, const Tensor& x, const Tensor& y,
                      const Tensor& log_sums, int64_t axis) {
  Shape out = along(op, x, axis);
  for (const Tensor* other : {&y, &log_sums}) {
    bool same = other->rank() == out.rank();
    for (int d = 0; same && d < out.rank(); ++d) {
      if (IsUnknown(out[d])) out[d] = other->size(d);
      same = IsUnknown(other->size(d)) || out[d] == other->size(d);
    }
    PROA_REQUIRE(same, op, ": x, y and log_sums must have one shape; x is ",
                 Describe(x), ", y ", Describe(y), ", log_sums ",
                 Describe(log_sums));
  }
  return out;
}

DType promote_product(const char* op, const Tensor& x,
                      std::optional<DType> dtype) {
  if (!dtype.has_value() && x.dtype() == DType::kInt32) return DType::kInt32;
  return promote_sum(op, x, dtype);
}

DType index_type(const char* op, DType dtype) {
  if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    ThrowTypeError(std::string(op) + ": indices are int32 or int64, not " +
                   std::string(Name(dtype)));
  }
  return dtype;
}

}  // namespace proa::inline v0::ops::infer
