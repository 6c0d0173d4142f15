// SavedTensorHooks: in a scope, tensors that nodes save are given to a function
// of yours, and only what it returns is kept until backward asks for them. To
// write them to a file, move them to the host, or keep them in fewer bits.
//
//   const SavedTensorHooks hooks(
//       [](const Tensor& t) { return std::make_shared<Half>(ToHalf(t)); },
//       [](const std::shared_ptr<void>& kept) {
//         return ToFloat(*static_cast<const Half*>(kept.get()));
//       });
//   Tensor loss = Model(x);   // recorded with these hooks
//
// Leaves that require grad are not packed: the model holds parameters anyway.
// Neither are symbolic tensors, which have no elements.
#ifndef PROA_AUTOGRAD_SAVED_TENSOR_HOOKS_H_
#define PROA_AUTOGRAD_SAVED_TENSOR_HOOKS_H_

#include <functional>
#include <memory>
#include <utility>

#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// Both functions run with grad and autocast off.
struct PackFunctions {
  // Called in the forward, with a handle of its own, without history. What it
  // throws, the forward call throws. May return null.
  std::function<std::shared_ptr<void>(const Tensor&)> pack;
  // Called in each backward, once for each formula that needs the tensor, on
  // the thread of the pass; also after the scope has ended. Must return a
  // tensor of the shape, dtype and place that was packed.
  std::function<Tensor(const std::shared_ptr<void>&)> unpack;
};

// Of one thread; of nested ones the innermost alone applies.
void PushSavedTensorHooks(PackFunctions functions);
// Throws Error kFailedPrecondition if there are none on this thread.
void PopSavedTensorHooks();

class SavedTensorHooks {
 public:
  SavedTensorHooks(decltype(PackFunctions::pack) pack,
                   decltype(PackFunctions::unpack) unpack) {
    PushSavedTensorHooks({std::move(pack), std::move(unpack)});
  }
  ~SavedTensorHooks() { PopSavedTensorHooks(); }
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;
};

namespace internal {
// Whether this thread has any; looked at whenever a tensor is saved.
extern thread_local constinit bool has_saved_tensor_hooks
    __attribute__((tls_model("initial-exec")));
std::shared_ptr<const PackFunctions> InnermostSavedTensorHooks();
}  // namespace internal

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_SAVED_TENSOR_HOOKS_H_
