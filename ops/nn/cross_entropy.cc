// Second-order gradient of softmax cross entropy, as a formula over ops.
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/elementwise/select_ops.h"
#include "ops/front_door.h"
#include "ops/manipulation/view_ops.h"
#include "ops/nn/cross_entropy_ops.h"
#include "ops/nn/softmax_ops.h"
#include "ops/reduction/sum_ops.h"

namespace proa::inline v0::ops {

// The gradient was (p * s - target) * grad_loss with p = softmax(logits) and s
// the sum of the target (1, or 0 where the label is ignored): only p depends on
// logits.
Tensor CrossEntropyGradLogits(const Tensor& grad_out, const Tensor& grad_loss,
                              const Tensor& logits, const Tensor& label,
                              bool soft_label, int64_t ignore_index,
                              int64_t axis) {
  Tensor scale;
  if (soft_label) {
    const int64_t axes[] = {axis};
    scale = multiply(grad_loss, sum(label, axes, std::nullopt, true));
  } else {
    const Tensor same = reshape(label, ShapeOf(grad_loss));
    const Tensor ignored = equal(same, full_like(same, Scalar(ignore_index)));
    scale = where(ignored, full_like(grad_loss, Scalar(0.0)), grad_loss);
  }
  return softmax_grad(softmax(logits, axis), multiply(grad_out, scale), axis);
}

}  // namespace proa::inline v0::ops
