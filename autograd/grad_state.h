// The grad state that autograd hangs on a tensor: stop_gradient's other side,
// the node that produced it, its accumulated gradient and its hooks.
//
// requires_grad(t) is exactly `t.flags() & kDifferentiate`.
//
// Reading the state of a tensor (RequiresGrad, GradEdge, ...) is safe from many
// threads, as is accumulating into a leaf; changing it needs the caller's lock.
#ifndef PROA_AUTOGRAD_GRAD_STATE_H_
#define PROA_AUTOGRAD_GRAD_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "autograd/node.h"
#include "tensor/block_pool.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

inline bool RequiresGrad(const Tensor& t) {
  return (t.flags() & kDifferentiate) != 0;
}
// Makes a tensor require grad, or stop it. Switching a non-leaf off cuts it
// from its history until it is switched on again. Throws TypeError for a dtype
// that is not floating point or complex.
void SetRequiresGrad(const Tensor& t, bool on);

// True for a tensor that no recorded op produced, or that does not require
// grad.
bool IsLeaf(const Tensor& t);
// Edge to the producer of `t`: its node, the accumulation node of a leaf, or an
// empty edge if it does not require grad (or is undefined).
Edge GradEdge(const Tensor& t);
// Records that `t` is output `slot` of `node`, and makes it require grad (if
// its dtype is differentiable). Replaces what was there (in-place). Move the
// last reference to the node in; it saves an atomic addition.
void SetHistory(const Tensor& t, IntrusivePtr<Node> node, uint32_t slot);

// Accumulated gradient of a leaf (or of a tensor that retains its gradient);
// undefined if none.
Tensor GetGrad(const Tensor& t);
// Throws Error if `grad` has another shape than `t`; undefined clears.
void SetGrad(const Tensor& t, Tensor grad);
// Makes the gradient of `t` zeros, if there is one. Costs nothing until
// somebody looks: the memory goes back, the next gradient is taken over instead
// of added.
void ClearGrad(const Tensor& t);
// Makes backward accumulate the gradient of a non-leaf too; nothing for a leaf.
void RetainGrad(const Tensor& t);
bool RetainsGrad(const Tensor& t);

// A hook on the gradient of `t`, which must require grad. Hooks run once a
// backward pass, in order of registration, when the whole gradient of `t` is
// there: before it is retained, captured by Grad, accumulated or passed on.
// Returns an id for RemoveHook. A hook stays with the value that `t` had: an
// in-place change of `t` gives it another history, without hooks.
int64_t AddHook(const Tensor& t, TensorHook hook);
bool RemoveHook(const Tensor& t, int64_t id);

// A new handle on the same storage (or program value) that does not require
// grad (shares the version).
Tensor Detach(const Tensor& t);

// Hangs on TensorImpl::autograd. For this room; others use the functions above.
class GradState final : public TensorExtension {
 public:
  explicit GradState(Edge producer) : producer(std::move(producer)) {}
  GradState(IntrusivePtr<Node> node, uint32_t slot)
      : producer{std::move(node), slot} {}
  ~GradState() override;
  // The same history; neither the gradient nor what retains it.
  std::unique_ptr<TensorExtension> Share() const override;

  static GradState* Of(const Tensor& t) {
    return static_cast<GradState*>(t.impl()->autograd.get());
  }

  bool is_leaf() const {
    return !producer.node || producer.node->is_accumulate_grad();
  }
  // Another history: what the old producer knows of this tensor is taken back.
  void Replace(Edge other);
  void Retain();  // of a non-leaf
  // Guards `grad` against backward on another thread; null if there can be
  // none.
  std::mutex* GradMutex();

  // Of a leaf: its AccumulateGrad, made when it starts to require grad. Empty
  // for a tensor that only has a gradient.
  Edge producer;
  Tensor grad;  // guarded by *GradMutex()
  // While `grad` is undefined: it stands for dense zeros like the tensor.
  // Guarded likewise.
  bool zero_grad = false;
  bool retains = false;
  // Of a root (see LinkView): its recorded in-place changes, by itself or a
  // view.
  uint32_t writes = 0;
  // Of a linked view: `writes` of its root at the time of `producer`.
  uint32_t seen = 0;

  static void* operator new(size_t bytes);
  static void operator delete(void* block);

 private:
  void LeaveProducer();
};

namespace internal {
Edge MakeLeafEdge(const Tensor& t);
Edge ViewEdge(const Tensor& t);  // of a linked view
void RenewSymbolicView(const Tensor& t);
}  // namespace internal

// --- Inline: part of every recorded op
// -------------------------------------------

inline Edge GradEdge(const Tensor& t) {
  if (!RequiresGrad(t)) return {};
  if (t.impl()->root) [[unlikely]]
    return internal::ViewEdge(t);
  if (GradState* state = GradState::Of(t);
      state != nullptr && state->producer.node) [[likely]] {
    return state->producer;
  }
  return internal::MakeLeafEdge(t);
}

inline void SetHistory(const Tensor& t, IntrusivePtr<Node> node,
                       uint32_t slot) {
  TensorImpl* impl = t.impl();
  if (!IsDifferentiable(impl->dtype)) return;
  if (impl->autograd == nullptr) [[likely]] {
    impl->autograd.reset(new GradState(std::move(node), slot));
  } else {
    GradState::Of(t)->Replace({std::move(node), slot});
  }
  impl->flags |= kDifferentiate;
}

namespace internal {
using GradStatePool =
    BlockPool<sizeof(GradState), alignof(GradState), 4096, GradState>;
}  // namespace internal
inline void* GradState::operator new(size_t) {
  return internal::GradStatePool::Take();
}
inline void GradState::operator delete(void* block) {
  internal::GradStatePool::Give(block);
}

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_GRAD_STATE_H_
