#include "autograd/accumulate_grad.h"

#include <utility>

#include "autograd/grad_ops.h"
#include "autograd/grad_state.h"
#include "tensor/error.h"

namespace proa::inline v0::autograd {
void AccumulateGrad::Accumulate(Tensor grad, bool create_graph) {
  // This and `grad` are dropped after the lock is: this very leaf may go with
  // them.
  Tensor displaced;
  std::lock_guard lock(mu_);
  if (leaf_ == nullptr) return;
  if (moved_ && (grad.dtype() != leaf_->dtype || grad.place() != leaf_->place))
      [[unlikely]] {
    grad = InstalledGradOps().move(grad, leaf_->dtype, leaf_->place);
  }
  if (!ShapesFit(grad.shape(), leaf_->shape) || grad.dtype() != leaf_->dtype)
      [[unlikely]] {
    Fail(absl::StatusCode::kInternal, "backward: a gradient that is ",
         Describe(grad), " arrived at a leaf that is ", ToString(leaf_->shape),
         " ", Name(leaf_->dtype),
         "; the backward formula of an op that uses the leaf is wrong");
  }
  Tensor& sum = state_->grad;
  if (state_->zero_grad && !sum.defined() &&
      grad.layout() == Layout::kRowSparse) [[unlikely]] {
    sum = InstalledGradOps().zeros_like(grad);  // it was dense and stays so
  }
  if (!sum.defined()) {
    sum = Unshared(grad);
  } else {
    displaced = AccumulateInto(sum, std::move(grad), create_graph);
  }
}

void AccumulateGrad::Backward(std::span<const Tensor> grads,
                              std::span<Tensor>) {
  Accumulate(grads[0], GradEnabled());
}

void AccumulateGrad::LeafMoves() {
  std::lock_guard lock(mu_);
  moved_ = true;
}

void AccumulateGrad::ForgetLeaf(const GradState* state) {
  std::lock_guard lock(mu_);
  if (state_ != state) return;
  leaf_ = nullptr;
  state_ = nullptr;
}

void AccumulateGrad::LookAtLeaf(
    const std::function<void(const TensorImpl&)>& look) {
  std::lock_guard lock(mu_);
  if (leaf_ != nullptr) look(*leaf_);
}

}  // namespace proa::inline v0::autograd
