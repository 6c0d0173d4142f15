// In-place changes of tensors that take part in differentiation, and what they
// mean for views. An op that changes `t` in place does this:
//
//   CheckInplace("multiply_", t);
//   auto node = ...;                        // the history, as of an op out of
//   place
//   ...                                     // the elements change
//   SetInplaceHistory(t, std::move(node), 0);
//
// A linked view (LinkView in tensor/tensor.h) knows its *root*: the tensor
// whose elements it shows. A recorded change of a view is functional
// underneath:
//
//   v = b[0]                 the view, with the history of op `slice`
//   v.multiply_(w)           v' = multiply(v, w); v is v' from now on
//                            b' = write_view(b, v'); b is b' from now on
//   u = b[0:2], made before  u' = read_view(b'), when u is next used
//
// The root counts such writes (GradState::writes); a view remembers the count
// that its history belongs to, and derives a new one where the root has gone
// on. So a write costs the same however many views there are, nothing refers
// from a root to its views, and no reference cycle can come about. The two
// nodes are differentiable to any order: they call the region operations of
// GradOps.
//
// Several threads may use the views of one root, and change those that do not
// overlap, at the same time. To change a root itself, its other users must
// wait.
//
// README.md has the table of what is allowed.
#ifndef PROA_AUTOGRAD_INPLACE_H_
#define PROA_AUTOGRAD_INPLACE_H_

#include <cstdint>
#include <span>

#include "autograd/node.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// Throws Error kFailedPrecondition if `op` cannot record that it changes `t` in
// place, while grad is on: a leaf that requires grad, or a view of which it is
// not known what it is a view of (made under no_grad). For a `t`
// that does not require grad, call it only if an operand does.
void CheckInplace(const char* op, const Tensor& t);
// The same for an op that gives `t` another shape and leaves its elements.
void CheckInplaceReshape(const char* op, const Tensor& t);

// SetHistory, for elements that were changed in place. Of a linked view, the
// root gets a new history as well, and with it all other views; unless the root
// is a leaf that requires grad: that is one with other values from then on, as
// if they had been changed under no_grad.
void SetInplaceHistory(const Tensor& t, IntrusivePtr<Node> node, uint32_t slot);
// The same, for elements that were overwritten by those of `value`, which may
// require grad or not.
void AssignHistory(const Tensor& t, const Tensor& value);

// LinkView, for a view whose history has just been recorded.
void LinkRecordedView(const Tensor& view, const Tensor& base);
void LinkRecordedView(std::span<const Tensor> views, const Tensor& base);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_INPLACE_H_
