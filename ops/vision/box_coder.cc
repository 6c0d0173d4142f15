// The gradient of box codes, as formulas over ops.
#include <cstdint>
#include <vector>

#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"
#include "ops/vision/box_coder_ops.h"

namespace proa::inline v0::ops {
namespace {

// The last dim in two halves: x and y of what they stand for.
struct Pair {
  Tensor low, high;

  explicit Pair(const Tensor& t) {
    const std::vector<Tensor> parts = split(t, IntArray{2, 2}, -1);
    low = parts[0];
    high = parts[1];
  }
};

Tensor With(const Tensor& x, double number) {
  return add(x, full_like(x, Scalar(number)));
}

Tensor Times(const Tensor& x, double number) {
  return multiply(x, full_like(x, Scalar(number)));
}

Tensor WithDim(const Tensor& t, int64_t axis) {
  const int64_t axes[] = {axis};
  return unsqueeze(t, axes);
}

Tensor Joined(const Tensor& low, const Tensor& high) {
  const Tensor parts[] = {low, high};
  return concat(parts, -1);
}

}  // namespace

Tensor BoxCoderGrad(const Tensor& dy, const Tensor& prior_box,
                    const Tensor& prior_box_var, const Tensor& target_box,
                    std::string_view code_type, bool box_normalized,
                    int64_t axis, std::span<const double> variance) {
  const bool encodes = code_type == "encode_center_size";
  const int64_t over = encodes ? 0 : axis;  // where all have the same measure
  const double more = box_normalized ? 0 : 1;
  const Pair prior(prior_box);
  const Tensor size =
      WithDim(With(subtract(prior.high, prior.low), more), over);
  // What codes are divided by.
  Tensor spread;
  if (prior_box_var.defined()) {
    spread = WithDim(prior_box_var, over);
  } else if (!variance.empty()) {
    std::vector<Tensor> numbers;
    for (const double v : variance) {
      numbers.push_back(
          full(IntArray{1, 1, 1}, Scalar(v), dy.dtype(), prior_box.place()));
    }
    spread = concat(numbers, -1);
  }
  if (encodes) {
    const Pair g(spread.defined() ? divide(dy, spread) : dy);
    const Pair target(target_box);
    const int64_t measures[] = {1};
    const Tensor moved = Times(sum(divide(g.low, size), measures), 0.5);
    const Tensor grown = divide(sum(g.high, measures),
                                With(subtract(target.high, target.low), more));
    return Joined(subtract(moved, grown), add(moved, grown));
  }
  const Pair g(dy);
  const Pair code(spread.defined() ? multiply(target_box, spread) : target_box);
  const Tensor half = Times(multiply(exp(code.high), size), 0.5);
  const Tensor out = Joined(multiply(add(g.low, g.high), size),
                            multiply(subtract(g.high, g.low), half));
  return spread.defined() ? multiply(out, spread) : out;
}

}  // namespace proa::inline v0::ops
