#include "autograd/moved_leaf.h"

#include <utility>

#include "autograd/accumulate_grad.h"
#include "autograd/grad_state.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {

MovedLeaf::MovedLeaf(const Tensor& t) {
  const GradState* state = GradState::Of(t);
  if (state == nullptr || !state->is_leaf() || t.impl()->root) return;
  if (state->producer.node) {
    static_cast<AccumulateGrad*>(state->producer.node.get())->LeafMoves();
  }
  leaf_ = t;
  differentiate_ = t.flags() & kDifferentiate;
  state_ = std::move(t.impl()->autograd);
}

void MovedLeaf::Restore() {
  if (!leaf_.defined()) return;
  TensorImpl& leaf = *leaf_.impl();
  leaf.autograd = std::move(state_);
  leaf.flags = (leaf.flags & ~kDifferentiate) | differentiate_;
}

}  // namespace proa::inline v0::autograd
