// A leaf that becomes another dtype or goes to another device, as Layer.to
// makes it, and stays the same leaf: hooks on its gradient stay, and graphs
// that were recorded before give their gradients to it, in its dtype of then.
//
//   MovedLeaf kept(x);
//   Rebind(x, value);
//   kept.Restore();
#ifndef PROA_AUTOGRAD_MOVED_LEAF_H_
#define PROA_AUTOGRAD_MOVED_LEAF_H_

#include <memory>

#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

class MovedLeaf {
 public:
  // Takes the grad state of `t`, unless an op has produced it: a history is of
  // the value that it was. Its gradient goes along as it is. The caller holds
  // the lock that changing a tensor needs.
  explicit MovedLeaf(const Tensor& t);
  // Gives it back, and with it whether the tensor requires grad.
  void Restore();

 private:
  Tensor leaf_;  // undefined if there is nothing to keep
  std::unique_ptr<TensorExtension> state_;
  Interpreters differentiate_ = 0;
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_MOVED_LEAF_H_
