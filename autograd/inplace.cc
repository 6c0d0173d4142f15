#include "autograd/inplace.h"

#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "autograd/grad_ops.h"
#include "autograd/grad_state.h"
#include "autograd/region.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/fork_locks.h"
#include "tensor/interpreters.h"
#include "tensor/shape.h"

namespace proa::inline v0::autograd {
namespace {

class WriteViewNode final : public Node {
 public:
  explicit WriteViewNode(Region region) : region_(std::move(region)) {}
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    const GradOps& ops = InstalledGradOps();
    if (needs_input_grad(0)) {
      input_grads[0] = ops.clear_region(grads[0], region_);
    }
    if (needs_input_grad(1)) {
      input_grads[1] = ops.read_region(grads[0], region_);
    }
  }
  const char* name() const override { return "write_view"; }

 private:
  Region region_;
};

class ReadViewNode final : public Node {
 public:
  ReadViewNode(Region region, TensorMeta whole)
      : region_(std::move(region)), whole_(std::move(whole)) {}
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    if (!needs_input_grad(0)) return;
    input_grads[0] = InstalledGradOps().place_region(grads[0], region_, whole_);
  }
  const char* name() const override { return "read_view"; }

 private:
  Region region_;
  TensorMeta whole_;
};

// Guards the histories of linked views and of their roots: readers renew those
// of views, and several threads may change views of one root. What goes under
// it must outlive it: Python's hooks may go with an edge, and want its lock.
std::mutex& ViewsMutex() {
  static auto* mutex = [] {
    auto* made = new std::mutex;
    HoldWhileForking(*made);
    return made;
  }();
  return *mutex;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = ViewsMutex();

// The region of `root` that its linked view shows.
Region RegionOf(const char* op, const Tensor& view, const Tensor& root) {
  if (view.storage() != root.storage()) {
    Fail(absl::StatusCode::kFailedPrecondition, op,
         ": x is a view of a tensor that was given other memory since; x is ",
         Describe(view), ", the tensor is ", Describe(root),
         "; make the view again");
  }
  if (!root.is_contiguous()) {
    Fail(absl::StatusCode::kFailedPrecondition, op,
         ": cannot record an in-place change where x is a view of a tensor "
         "whose elements do not lie one after the other; x is ",
         Describe(view), ", the tensor is ", Describe(root), " with strides ",
         ToString(std::span<const int64_t>(root.strides())),
         "; use a contiguous copy of that tensor");
  }
  Region region{view.shape(), view.strides(), 0, view.dtype()};
  if (view.numel() > 0) {
    region.offset = (static_cast<const char*>(view.raw_data()) -
                     static_cast<const char*>(root.raw_data())) /
                    ItemSize(view.dtype());
  }
  return region;
}

// The root of a linked view; undefined for any other tensor, and for a view
// that got memory of its own since.
Tensor RootOf(const Tensor& t) {
  const IntrusivePtr<TensorImpl>& root = t.impl()->root;
  return root && root->storage == t.storage() ? Tensor(root) : Tensor();
}

[[noreturn]] void FailInplace(const char* op, const Tensor& t, const char* why,
                              const char* way_out) {
  Fail(absl::StatusCode::kFailedPrecondition, op,
       ": cannot change x in place; x is ", Describe(t), ", ", why, "; ",
       way_out);
}

constexpr const char* kNoGrad =
    "change it under no_grad, or change a copy (clone)";

void CheckNoLeaf(const char* op, const Tensor& t, const char* what) {
  if (RequiresGrad(t) && IsLeaf(t)) FailInplace(op, t, what, kNoGrad);
}

bool RootRequiresGrad(const Tensor& root) {
  std::lock_guard lock(ViewsMutex());
  return RequiresGrad(root);
}

// Whether a change of a view of `root` changes the values of a leaf, which
// takes no history: the leaf is one with other values then, for its other views
// too, and only the view that was written to knows what was written.
bool IsLeafRoot(const Tensor& root) {
  std::lock_guard lock(ViewsMutex());
  return RequiresGrad(root) && IsLeaf(root);
}

constexpr const char* kLeaf =
    "a leaf that requires grad (its stop_gradient is False)";

// Counts a recorded change of the elements of `root`, which has its new
// history.
uint32_t CountWrite(const Tensor& root) {
  root.impl()->view_flags.fetch_or(kDifferentiate, std::memory_order_relaxed);
  return ++GradState::Of(root)->writes;
}

// SetHistory, which returns what it displaced.
Edge Displace(const Tensor& t, Edge history) {
  Edge displaced;
  if (const GradState* state = GradState::Of(t)) displaced = state->producer;
  SetHistory(t, std::move(history.node), history.slot);
  return displaced;
}

// After a recorded change gave `view` the value that `value` produced (nothing
// if that is a constant). The view learns of it now if it has a `history`.
void WriteToRoot(const Tensor& view, const Tensor& root, Edge value,
                 Edge history) {
  auto node = MakeNode<WriteViewNode>(RegionOf("in-place op", view, root));
  Edge displaced[2];  // go after the lock
  std::lock_guard lock(ViewsMutex());
  node->AddEdge(GradEdge(root));
  node->AddEdge(std::move(value));
  displaced[0] = Displace(root, {std::move(node), 0});
  const uint32_t written = CountWrite(root);
  if (!history.node) return;
  displaced[1] = Displace(view, std::move(history));
  GradState::Of(view)->seen = written;
}

// History of a view of a leaf that constants were written over: zeros go back.
void ForgetValue(const Tensor& view) {
  auto node = MakeNode<WriteViewNode>(
      Region{view.shape(), ContiguousStrides(view.shape()), 0, view.dtype()});
  node->AddEdge(GradEdge(view));
  node->AddEdge({});
  SetHistory(view, std::move(node), 0);
}

}  // namespace

void CheckInplace(const char* op, const Tensor& t) {
  if (!GradEnabled() || !IsDifferentiable(t.dtype())) return;
  CheckNoLeaf(op, t, kLeaf);
  if (const Tensor root = RootOf(t); root.defined()) {
    // Throws for a root that cannot be recorded.
    if (!IsLeafRoot(root)) RegionOf(op, t, root);
  } else if (t.is_view() && t.storage() && t.storage()->use_count() > 1) {
    FailInplace(op, t,
                "a view made under no_grad, so that what it is a view of would "
                "not know of the change",
                "make the view while grad is on, or change a copy (clone)");
  }
}

void CheckInplaceReshape(const char* op, const Tensor& t) {
  if (GradEnabled()) CheckNoLeaf(op, t, kLeaf);
}

void SetInplaceHistory(const Tensor& t, IntrusivePtr<Node> node,
                       uint32_t slot) {
  if (!IsDifferentiable(t.dtype())) return;
  const Tensor root = RootOf(t);
  if (!root.defined()) {
    SetHistory(t, std::move(node), slot);
    CountWrite(t);
    return;
  }
  if (IsLeafRoot(root)) return SetHistory(t, std::move(node), slot);
  WriteToRoot(t, root, {node, slot}, {node, slot});
}

void AssignHistory(const Tensor& t, const Tensor& value) {
  Edge edge = GradEdge(value);
  if (edge.node) {
    return SetInplaceHistory(t, std::move(edge.node), edge.slot);
  }
  if (!RequiresGrad(t)) return;
  // Constants took the place of what had a history.
  const Tensor root = RootOf(t);
  if (root.defined() && IsLeafRoot(root)) {
    ForgetValue(t);
  } else if (root.defined() && RootRequiresGrad(root)) {
    WriteToRoot(t, root, {}, {});  // of which `t` will learn
  } else {
    GradState::Of(t)->Replace(Edge{});
    CountWrite(t);
    SetRequiresGrad(t, false);
  }
}

void LinkRecordedView(const Tensor& view, const Tensor& base) {
  LinkView(view, base);
  const Tensor root = RootOf(view);
  if (!root.defined() || root.impl()->view_flags == 0) return;
  std::lock_guard lock(ViewsMutex());
  if (GradState* state = GradState::Of(view)) {
    state->seen = GradState::Of(root)->writes;
  }
}

void LinkRecordedView(std::span<const Tensor> views, const Tensor& base) {
  for (const Tensor& view : views) LinkRecordedView(view, base);
}

void internal::RenewSymbolicView(const Tensor& t) {
  if (const auto renew = InstalledGradOps().renew_symbolic) renew(t);
}

Edge internal::ViewEdge(const Tensor& t) {
  if (t.is_symbolic()) RenewSymbolicView(t);
  TensorImpl* impl = t.impl();
  Edge displaced;  // goes after the lock
  std::lock_guard lock(ViewsMutex());
  const TensorImpl* root = impl->root.get();
  if (root == nullptr || root->view_flags == 0 || t.is_symbolic() ||
      (root->storage != impl->storage && (impl->flags & kDifferentiate) != 0)) {
    const GradState* state = GradState::Of(t);
    return state != nullptr && state->producer.node ? state->producer
                                                    : MakeLeafEdge(t);
  }
  if (impl->autograd == nullptr) {
    impl->autograd = std::make_unique<GradState>(Edge{});
  }
  GradState& state = *GradState::Of(t);
  const Tensor whole(impl->root);
  const GradState& written = *GradState::Of(whole);
  if (!state.producer.node || state.seen != written.writes) {
    auto node = MakeNode<ReadViewNode>(
        RegionOf("backward", t, whole),
        TensorMeta{whole.shape(), whole.dtype(), whole.place()});
    node->AddEdge(written.producer);
    displaced = state.producer;
    state.Replace({std::move(node), 0});
    state.seen = written.writes;
  }
  return state.producer;
}

}  // namespace proa::inline v0::autograd
