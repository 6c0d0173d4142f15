#include "autograd/grad_state.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/accumulate_grad.h"
#include "autograd/node_extras.h"
#include "tensor/error.h"

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

bool SameShape(const Tensor& a, const Tensor& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.size(i) != b.size(i) && a.size(i) != kUnknownDim &&
        b.size(i) != kUnknownDim) {
      return false;
    }
  }
  return true;
}

// True if `t` is a view, of a view, ... of a leaf: view ops have one input, so
// their nodes form a chain that ends at the leaf with the same storage.
bool IsViewOfLeaf(const Tensor& t, const GradState& state) {
  // Other ops with one input look alike; a bound keeps this check cheap.
  constexpr int kMaxViewsOfViews = 64;
  const Node* node = state.producer.node.get();
  for (int i = 0; i < kMaxViewsOfViews && node->edges().size() == 1; ++i) {
    Node* next = node->edges()[0].node.get();
    if (next == nullptr) return false;
    if (auto* leaf = dynamic_cast<AccumulateGrad*>(next)) {
      return leaf->LeafHasStorage(t.storage().get());
    }
    node = next;
  }
  return false;
}

[[noreturn]] void FailInplace(const char* op, const Tensor& t, const char* why,
                              const char* way_out) {
  Fail(absl::StatusCode::kFailedPrecondition, op,
       ": cannot change x in place; x is ", Describe(t), ", ", why, "; ",
       way_out);
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
  if (retains) Retain();
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
  const GradState* state = GradState::Of(t);
  return state == nullptr || state->is_leaf();
}

Tensor GetGrad(const Tensor& t) {
  GradState* state = GradState::Of(t);
  if (state == nullptr) return {};
  if (std::mutex* mu = state->GradMutex()) {
    std::lock_guard lock(*mu);
    return state->grad;
  }
  return state->grad;
}

void SetGrad(const Tensor& t, Tensor grad) {
  if (!grad.defined() && GradState::Of(t) == nullptr) return;
  if (grad.defined() && !SameShape(t, grad)) {
    FailArgument("grad: the gradient of a tensor has its shape; x is ",
                 Describe(t), ", grad is ", Describe(grad));
  }
  GradState& state = StateOf(t);
  if (std::mutex* mu = state.GradMutex()) {
    std::lock_guard lock(*mu);
    std::swap(state.grad, grad);  // the old one goes after the lock
  } else {
    std::swap(state.grad, grad);
  }
}

void RetainGrad(const Tensor& t) {
  PROA_REQUIRE(RequiresGrad(t), "retain_grads: x does not require grad; x is ",
               Describe(t));
  if (IsLeaf(t) || GradState::Of(t)->retains) return;
  GradState::Of(t)->Retain();
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
  Tensor alias = t.Alias();
  alias.impl()->symbol = t.impl()->symbol;
  alias.impl()->flags &= ~kDifferentiate;
  return alias;
}

void CheckInplace(const char* op, const Tensor& t) {
  if (!RequiresGrad(t) || !GradEnabled()) return;
  constexpr const char* kNoGrad =
      "change it under no_grad, or change a copy (clone)";
  if (IsLeaf(t)) {
    FailInplace(op, t, "a leaf that requires grad", kNoGrad);
  }
  if (!t.is_view() || !t.storage()) return;
  if (IsViewOfLeaf(t, *GradState::Of(t))) {
    FailInplace(op, t, "a view of a leaf that requires grad", kNoGrad);
  }
  // The history of the other tensors on this storage would not know of the
  // change.
  if (t.storage()->use_count() > 1) {
    FailInplace(op, t, "a view whose elements belong to another tensor too",
                "change a copy (clone)");
  }
}

}  // namespace proa::inline v0::autograd
