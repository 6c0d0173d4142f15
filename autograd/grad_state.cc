#include "autograd/grad_state.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/accumulate_grad.h"
#include "autograd/grad_ops.h"
#include "autograd/node_extras.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/row_sparse.h"
#include "tensor/shape.h"

namespace proa::inline v0::autograd {
namespace {

AccumulateGrad* LeafNode(const GradState& state) {
  return static_cast<AccumulateGrad*>(state.producer.node.get());
}

GradState& StateOf(const Tensor& t) {
  if (t.impl()->autograd == nullptr) {
    t.impl()->autograd = std::make_unique<GradState>(Edge{});
  }
  return *GradState::Of(t);
}

// Calls `f(state)` with the gradient locked, if it needs that.
template <typename F>
void WithGradLocked(GradState& state, F&& f) {
  if (std::mutex* mu = state.GradMutex()) {
    std::lock_guard lock(*mu);
    f();
  } else {
    f();
  }
}

// What a gradient that is cleared may be replaced by: zeros like `t` itself.
bool IsDenseLike(const Tensor& grad, const Tensor& t) {
  return grad.layout() == Layout::kStrided && !grad.is_symbolic() &&
         !t.is_symbolic() && grad.dtype() == t.dtype() &&
         grad.shape() == t.shape() && grad.place() == t.place() &&
         t.layout() == Layout::kStrided;
}

// Of a row-sparse tensor one without rows.
Tensor ZerosLike(const Tensor& t) {
  if (IsRowSparse(t)) {
    Shape shape = t.shape();
    shape[0] = 0;
    return MakeRowSparse(Tensor::Empty({0}, DType::kInt64, t.place()),
                         Tensor::Empty(shape, t.dtype(), t.place()), t.size(0));
  }
  const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
  return InstalledGradOps().zeros_like(t);
}

}  // namespace

GradState::~GradState() { LeaveProducer(); }

void GradState::LeaveProducer() {
  if (!producer.node) return;
  if (is_leaf()) {
    LeafNode(*this)->ForgetLeaf(this);
  } else if (retains) {
    Node::Extras& extras = producer.node->GetExtras();
    std::lock_guard lock(extras.mu);
    std::erase_if(extras.retained,
                  [this](const auto& r) { return r.state == this; });
  }
}

void GradState::Replace(Edge other) {
  LeaveProducer();
  std::swap(producer, other);
  retains = retains && producer.node;
  if (retains) Retain();
}

std::unique_ptr<TensorExtension> GradState::Share() const {
  if (!producer.node) return nullptr;
  return std::make_unique<GradState>(producer);
}

void GradState::Retain() {
  retains = true;
  Node::Extras& extras = producer.node->GetExtras();
  std::lock_guard lock(extras.mu);
  extras.retained.push_back({producer.slot, this});
}

std::mutex* GradState::GradMutex() {
  if (!producer.node) return nullptr;
  if (is_leaf()) return &LeafNode(*this)->mutex();
  return retains ? &producer.node->GetExtras().mu : nullptr;
}

void SetRequiresGrad(const Tensor& t, bool on) {
  TensorImpl* impl = t.impl();
  if (impl->root) {
    if (RequiresGrad(t) == on) return;
    // Leaves what it is a view of: cut from it, or a leaf beside it.
    impl->root = nullptr;
    impl->is_view = false;
    if (impl->autograd != nullptr) GradState::Of(t)->Replace(Edge{});
  }
  if (!on) {
    impl->flags &= ~kDifferentiate;
    return;
  }
  if (!IsDifferentiable(impl->dtype)) {
    ThrowTypeError(absl::StrCat(
        "stop_gradient: only floating point and complex tensors can require "
        "grad; x is ",
        Describe(t)));
  }
  GradState& state = StateOf(t);
  if (!state.producer.node) {
    state.producer = {MakeNode<AccumulateGrad>(impl, &state), 0};
  }
  impl->flags |= kDifferentiate;
}

Edge internal::MakeLeafEdge(const Tensor& t) {
  SetRequiresGrad(t, true);
  return GradState::Of(t)->producer;
}

bool IsLeaf(const Tensor& t) {
  if (!RequiresGrad(t)) return true;
  if (t.impl()->root) return false;
  const GradState* state = GradState::Of(t);
  return state == nullptr || state->is_leaf();
}

Tensor GetGrad(const Tensor& t) {
  GradState* state = GradState::Of(t);
  if (state == nullptr) return {};
  Tensor grad;
  WithGradLocked(*state, [&] {
    if (state->zero_grad && !state->grad.defined()) state->grad = ZerosLike(t);
    grad = state->grad;
  });
  return grad;
}

void SetGrad(const Tensor& t, Tensor grad) {
  if (!grad.defined() && GradState::Of(t) == nullptr) return;
  if (grad.defined() && !ShapesFit(t.shape(), grad.shape())) {
    FailArgument("grad: the gradient of a tensor has its shape; x is ",
                 Describe(t), ", grad is ", Describe(grad));
  }
  GradState& state = StateOf(t);
  WithGradLocked(state, [&] {
    std::swap(state.grad, grad);  // the old one goes after the lock
    state.zero_grad = false;
  });
}

void ClearGrad(const Tensor& t) {
  GradState* state = GradState::Of(t);
  if (state == nullptr) return;
  Tensor old;
  WithGradLocked(*state, [&] {
    if (!state->grad.defined()) return;
    std::swap(state->grad, old);
    state->zero_grad = IsDenseLike(old, t);
    if (!state->zero_grad) state->grad = ZerosLike(old);
  });
}

void RetainGrad(const Tensor& t) {
  PROA_REQUIRE(RequiresGrad(t), "retain_grads: x does not require grad; x is ",
               Describe(t));
  if (IsLeaf(t)) return;
  const Edge producer = GradEdge(t);  // of now, if `t` is a view
  if (GradState* state = GradState::Of(t); !state->retains) state->Retain();
}

bool RetainsGrad(const Tensor& t) {
  return GradState::Of(t) != nullptr && GradState::Of(t)->retains;
}

int64_t AddHook(const Tensor& t, TensorHook hook) {
  PROA_REQUIRE(RequiresGrad(t),
               "register_hook: x does not require grad, so no gradient will "
               "come; x is ",
               Describe(t));
  Edge edge = GradEdge(t);
  return edge.node->AddHook(edge.slot, std::move(hook));
}

bool RemoveHook(const Tensor& t, int64_t id) {
  const GradState* state = GradState::Of(t);
  return state != nullptr && state->producer.node &&
         state->producer.node->RemoveHook(id);
}

Tensor Detach(const Tensor& t) {
  if (t.impl()->root && t.is_symbolic()) internal::RenewSymbolicView(t);
  Tensor alias = t.Alias();
  alias.impl()->is_view = false;  // changes on its own
  return alias;
}

}  // namespace proa::inline v0::autograd
