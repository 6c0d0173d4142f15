// SavedTensor: a tensor that a node keeps for its backward formula. It
// remembers the version, so that an in-place change between forward and
// backward is an error that names the op that made the change, never a wrong
// gradient.
//
// It keeps the elements and the history of now, not the caller's handle: a
// later in-place op may give that handle a history that leads back to this
// node, which would be a reference cycle and, in a second derivative, the wrong
// history.
#ifndef PROA_AUTOGRAD_SAVED_TENSOR_H_
#define PROA_AUTOGRAD_SAVED_TENSOR_H_

#include <cstdint>

#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

class SavedTensor {
 public:
  // Nothing (a `Tensor?` argument that is absent): Get returns undefined.
  SavedTensor() = default;
  // An input, which the op itself may go on to change in place. Of an undefined
  // tensor: nothing.
  explicit SavedTensor(const Tensor& input);
  // Output `slot` of `owner` (the node that keeps it): kept without its
  // history, which would be a reference cycle; Get puts it back.
  SavedTensor(const Tensor& output, uint32_t slot);

  // Another handle on what was saved; if grad is on, with the history that it
  // had. Throws Error kFailedPrecondition after Release ("... backward a second
  // time") or when the version changed ("saved for <name>'s backward was
  // changed in place by <op>").
  Tensor Get(Node& owner) const;
  void Release();

 private:
  enum class Kind : uint8_t { kNothing, kInput, kOutput, kReleased };

  void Keep(const Tensor& t, Kind kind);

  Tensor alias_;                 // without history
  IntrusivePtr<Node> producer_;  // of an input that requires grad
  uint32_t slot_ = 0;            // of the producer, or of the owner
  uint32_t version_ = 0;
  Kind kind_ = Kind::kNothing;
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_SAVED_TENSOR_H_
