// Composite ops of sum.yaml: how gradients of broadcasting and of reductions
// find their shapes.
#include <algorithm>
#include <vector>

#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/front_door.h"
#include "ops/manipulation/arrange_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/scan_ops.h"
#include "ops/reduction/sum_ops.h"
#include "ops/reduction/wide.h"
#include "ops/value.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops {
namespace {

// `axis` as increasing numbers of dims; all of them if it is empty. A 0-d
// tensor has none, though it may be reduced over axis 0 or -1.
std::vector<int64_t> SortedAxes(const char* op, std::span<const int64_t> axis,
                                int rank) {
  std::vector<int64_t> axes;
  for (const int64_t a : axis) {
    const int64_t d = NormalizeAxis(op, a, rank);
    if (rank > 0) axes.push_back(d);
  }
  if (axis.empty()) {
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool AnyUnknown(std::span<const int64_t> dims) {
  return std::any_of(dims.begin(), dims.end(), IsUnknown);
}

}  // namespace

Tensor SumTo(const Tensor& x, const IntArray& shape) {
  const std::span<const int64_t> to = shape.values();
  if (std::ranges::equal(to, x.shape()) && x.shape().identified()) return x;
  if (shape.is_symbolic() || AnyUnknown(to) || !x.shape().known()) {
    return reduce_to(x, shape);
  }
  const int lead = x.rank() - shape.size();
  bool fits = lead >= 0;
  std::vector<int64_t> axes;
  for (int d = 0; fits && d < x.rank(); ++d) {
    const bool reduced = d < lead || (to[d - lead] == 1 && x.size(d) != 1);
    fits = reduced || to[d - lead] == x.size(d);
    if (reduced) axes.push_back(d);
  }
  PROA_REQUIRE(fits, "sum_to: ", ToString(to),
               " does not broadcast to the shape of x; x is ", Describe(x));
  if (axes.empty()) return reshape(x, shape);
  const Tensor out = sum(x, axes, x.dtype(), /*keepdim=*/true);
  return lead == 0 ? out : reshape(out, shape);
}

Tensor Unreduce(const Tensor& x, const IntArray& shape,
                std::span<const int64_t> axis, bool keepdim) {
  const int rank = shape.size();
  if (keepdim || x.rank() == rank || axis.empty()) {
    return broadcast_to(x, shape);
  }
  return broadcast_to(unsqueeze(x, SortedAxes("unreduce", axis, rank)), shape);
}

Tensor DivideByCount(const Tensor& x, const IntArray& shape,
                     std::span<const int64_t> axis) {
  if (!IsDifferentiable(x.dtype())) {
    ThrowTypeError("divide_by_count: x must be floating or complex; it is " +
                   Describe(x));
  }
  const std::vector<int64_t> axes =
      SortedAxes("divide_by_count", axis, shape.size());
  int64_t count = 1;
  bool known = true;
  for (const int64_t a : axes) {
    known = known && !IsUnknown(shape[a]);
    if (known) count = CheckedMul(count, shape[a]);
  }
  if (known) return scale(x, Scalar(1.0 / static_cast<double>(count)));
  PROA_REQUIRE(shape.is_symbolic(), "divide_by_count: shape ",
               ToString(Value(shape)), " has a negative size");
  Tensor sizes = shape.tensor();
  std::vector<Tensor> chosen;
  for (const int64_t a : axes) {
    const int64_t one[] = {0}, begin[] = {a}, end[] = {a + 1}, step[] = {1};
    chosen.push_back(slice(sizes, one, begin, end, step));
  }
  return divide(x, cast(prod(concat(chosen)), x.dtype()));
}

Tensor ProdBackward(const Tensor& grad_out, const Tensor& x,
                    std::span<const int64_t> axis, bool keepdim) {
  const std::vector<int64_t> axes = SortedAxes("prod_backward", axis, x.rank());
  if (axes.empty()) return grad_out;
  // The reduced dims go to the end and become one, along which the products of
  // all earlier and of all later factors run.
  std::vector<int64_t> order, back(x.rank());
  for (int d = 0; d < x.rank(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) order.push_back(d);
  }
  const int kept = static_cast<int>(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  for (int d = 0; d < x.rank(); ++d) back[order[d]] = d;
  // Products of half precision overflow before the gradient does.
  const Tensor moved = transpose(Wide(x), order);
  const Tensor rows = flatten(moved, kept, x.rank() - 1);
  const int64_t last[] = {kept}, from_first[] = {0}, from_second[] = {1},
                to_last[] = {-1}, step[] = {1};
  const Tensor ones =
      full_like(slice(rows, last, from_first, from_second, step), Scalar(1.0));
  const Tensor before = concat(
      std::vector<Tensor>{
          ones, slice(cumprod(rows, kept), last, from_first, to_last, step)},
      kept);
  const Tensor reversed = flip(rows, last);
  const Tensor after =
      flip(concat(std::vector<Tensor>{ones, slice(cumprod(reversed, kept), last,
                                                  from_first, to_last, step)},
                  kept),
           last);
  const Tensor others =
      transpose(reshape(conj(multiply(before, after)), ShapeOf(moved)), back);
  return Narrow(
      multiply(unreduce(Wide(grad_out), ShapeOf(x), axis, keepdim), others),
      x.dtype());
}

}  // namespace proa::inline v0::ops
