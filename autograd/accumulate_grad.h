// AccumulateGrad: the node at which a gradient flows into a leaf. Internal to
// this room; the engine knows it by type.
//
// Who owns whom: leaf tensor -> GradState -> AccumulateGrad <- edges of the
// graph. The node does not own the leaf, and the gradient lies in the
// GradState. So a graph keeps no leaf alive, and a gradient with a history of
// its own (create_graph) is no cycle: leaf -> gradient -> its graph -> this
// node, and ends. A gradient that comes when the leaf is gone is dropped:
// nobody could see it.
#ifndef PROA_AUTOGRAD_ACCUMULATE_GRAD_H_
#define PROA_AUTOGRAD_ACCUMULATE_GRAD_H_

#include <functional>
#include <mutex>
#include <span>

#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

class GradState;

class AccumulateGrad final : public Node {
 public:
  AccumulateGrad(TensorImpl* leaf, GradState* state)
      : Node(kLeafSequence), leaf_(leaf), state_(state) {}

  // Adds to the leaf's gradient. Takes `grad` over if nobody else sees it, else
  // copies. Safe from several threads.
  void Accumulate(Tensor grad, bool create_graph);

  void Backward(std::span<const Tensor> grads, std::span<Tensor>) override;
  const char* name() const override { return "accumulate_grad"; }

  // The leaf is about to be of another dtype or place: gradients of graphs from
  // before become what it is when they come.
  void LeafMoves();
  // Called by each GradState that goes or gets another history; nothing unless
  // it is the leaf's own (a saved tensor may share the edge).
  void ForgetLeaf(const GradState* state);
  // Guards the gradient of the leaf.
  std::mutex& mutex() { return mu_; }
  // `look(leaf)`, while nobody can take the leaf away; not called when it is
  // gone. For reports: it must not touch gradients.
  void LookAtLeaf(const std::function<void(const TensorImpl&)>& look);

 private:
  std::mutex mu_;
  TensorImpl* leaf_;    // guarded by mu_; null when the leaf is gone
  GradState* state_;    // guarded by mu_
  bool moved_ = false;  // guarded by mu_
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_ACCUMULATE_GRAD_H_
