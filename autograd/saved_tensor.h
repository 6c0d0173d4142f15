// SavedTensor: a tensor that a node keeps for its backward formula. It
// remembers the version, so that an in-place change between forward and
// backward is an error that names the op that made the change, never a wrong
// gradient.
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
  // An input: keeps the handle with its history. Of an undefined tensor:
  // nothing.
  explicit SavedTensor(const Tensor& input) {
    if (!input.defined()) return;
    Keep(input);
    if (input.is_symbolic()) [[unlikely]]
      *this = Overwritten(input);
  }
  // Output `slot` of `owner` (the node that keeps it): kept without its
  // history, which would be a reference cycle; Get puts it back.
  SavedTensor(const Tensor& output, uint32_t slot);
  // An input that the op is about to change in place. Its handle will get the
  // node as its history, a cycle; so this keeps another handle with the history
  // of now. Get then throws, unless the change is not one (the version stays).
  static SavedTensor Overwritten(const Tensor& input);

  // The tensor with its history (output: if grad is on). Throws Error
  // kFailedPrecondition after Release ("... backward a second time") or when
  // the version changed ("saved for <name>'s backward was changed in place by
  // <op>").
  Tensor Get(Node& owner) const;
  void Release();

 private:
  static constexpr int32_t kInput = -1;
  static constexpr int32_t kReleased = -2;

  void Keep(const Tensor& t) {
    tensor_ = t;
    storage_ = t.storage().get();
    version_ = t.version();
  }

  Tensor tensor_;
  // An in-place op may also give the handle another storage.
  const Storage* storage_ = nullptr;  // to compare only
  uint32_t version_ = 0;
  int32_t slot_ = kInput;  // >= 0: an output
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_SAVED_TENSOR_H_
