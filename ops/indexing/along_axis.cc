// Composite of the ways to put along an axis.
#include <string_view>

#include "ops/indexing/indexing_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

Tensor PutAlongAxis(const Tensor& x, const Tensor& indices, const Tensor& value,
                    int64_t axis, std::string_view reduce) {
  if (reduce == "assign") return put_along_axis_assign(x, indices, value, axis);
  if (reduce == "add") return put_along_axis_add(x, indices, value, axis);
  if (reduce == "multiply" || reduce == "mul") {
    return put_along_axis_multiply(x, indices, value, axis);
  }
  FailArgument("put_along_axis: unknown reduce '", reduce,
               "'; use assign, add or multiply");
}

}  // namespace proa::inline v0::ops
