// SavedTensor: a tensor that a node keeps for its backward formula. It
// remembers the version, so that an in-place change between forward and
// backward is an error that names the op that made the change, never a wrong
// gradient.
//
// It keeps the elements and the history of now, not the caller's handle: a
// later in-place op may give that handle a history that leads back to this
// node, which would be a reference cycle and, in a second derivative, the wrong
// history.
//
// What its producer can compute again (recomputing_node.h) is not kept at all.
#ifndef PROA_AUTOGRAD_SAVED_TENSOR_H_
#define PROA_AUTOGRAD_SAVED_TENSOR_H_

#include <cstdint>
#include <memory>

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
  // The same, where edge number `edge` of `owner` (the node that keeps it)
  // leads to the producer of `input`, which is then not held twice.
  SavedTensor(const Tensor& input, const Node& owner, int edge);
  // Output `slot` of `owner` (the node that keeps it): kept without its
  // history, which would be a reference cycle; Get puts it back.
  SavedTensor(const Tensor& output, uint32_t slot);

  // The first output of `owner`, which recomputes(): nothing is kept of it.
  static SavedTensor OfRecomputedOutput();

  // Another handle on what was saved; if grad is on, with the history that it
  // had. Throws Error kFailedPrecondition after Release ("... backward a second
  // time") or when the version changed ("saved for <name>'s backward was
  // changed in place by <op>").
  Tensor Get(Node& owner) const;
  void Release();

  // What is there, for reports. kNothing, kReleased: nothing.
  enum class Kind : uint8_t {
    kNothing,
    kInput,
    kInputOfEdge,
    kOutput,
    kReleased
  };
  Kind kind() const { return kind_; }
  // The elements, without history; undefined if there is nothing, if only the
  // hooks have them (saved_tensor_hooks.h), or if they are computed again.
  const Tensor& tensor() const { return alias_; }
  // Shape, dtype and place of what hooks keep; null if they keep nothing.
  const TensorMeta* packed() const;
  // Of an input of `owner`, which keeps it: the node that it came from; null if
  // it requires no grad.
  const Node* producer(const Node& owner) const {
    return kind_ == Kind::kInputOfEdge ? owner.edges()[slot_].node.get()
                                       : producer_.get();
  }

 private:
  struct Packed;
  struct PackedDeleter {
    void operator()(Packed* packed) const;
  };

  void Keep(const Tensor& t, Kind kind);
  void KeepInput(const Tensor& input, Kind kind, const Edge& from);
  void Pack(const Node* producer);
  Tensor Unpack(const Node& owner) const;
  Tensor Recompute(Node& owner) const;
  Edge History(Node& owner) const;

  Tensor alias_;  // without history
  std::unique_ptr<Packed, PackedDeleter> packed_;
  IntrusivePtr<Node> producer_;  // kInput that requires grad
  uint32_t slot_ = 0;  // of the producer or owner; or the edge's number
  uint32_t version_ = 0;
  Kind kind_ = Kind::kNothing;
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_SAVED_TENSOR_H_
