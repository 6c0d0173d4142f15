// RecomputingNode: a node whose first output is not kept for backward, but
// computed again when it is needed.
//
// Some ops are so cheap beside what they read and write that keeping their
// result costs more memory than it saves time: normalization and relu between
// two convolutions. A schema says so (`recompute:`), and a node of such an op
// then computes its output again from what it has saved anyway. Who saves that
// output for a formula of its own (SavedTensor) keeps nothing.
//
// What was computed again is shared by all who ask, until this node's own
// formula has run. Results are the same bits as those of the forward pass.
//
// Some ops are worth it only behind such a node, whose output they then do not
// keep alive: relu of a normalization. They compute their output again from
// that of the producers of their inputs, and save nothing.
#ifndef PROA_AUTOGRAD_RECOMPUTING_NODE_H_
#define PROA_AUTOGRAD_RECOMPUTING_NODE_H_

#include <cstdint>
#include <memory>

#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// Whether nodes that are made from now on, on any thread, do so. At first they
// do.
bool RecomputeOutputs();
void SetRecomputeOutputs(bool on);

class RecomputingNode : public Node {
 public:
  RecomputingNode();
  ~RecomputingNode() override;

  // Whether `t`, whose history is output `slot` of this node, still has the
  // elements that Recomputed gives.
  bool Gives(const Tensor& t, uint32_t slot) const;
  // The first output, without history. Throws what SavedTensor::Get throws,
  // also if this node's formula has run and its tensors were freed.
  Tensor Recomputed();
  // Somebody relies on Recomputed: once computed, it is kept for the next.
  void NoteReliance();

 protected:
  // Call once the edges are added: from then on recomputes() is true, unless it
  // is switched off, or `output` has no elements of its own, or the chain of
  // outputs that would have to be computed before it is too long.
  void AllowRecompute(const Tensor& output);
  // The same, if each of `inputs`, in the order of the edges, is an output that
  // its producer recomputes.
  template <typename... Inputs>
  void AllowRecomputeBehind(const Tensor& output, const Inputs&... inputs) {
    int edge = 0;
    if ((... && InputRecomputes(edge++, inputs))) AllowRecompute(output);
  }
  // That input again, for Recompute.
  Tensor RecomputedInput(int edge);
  // Call when this node's formula has run, and when what it saved is released.
  void ForgetRecomputed();

 private:
  // Of nodes that recompute.
  struct State;

  // The first output from what the node saved.
  virtual Tensor Recompute() = 0;

  Tensor Recomputed(bool keep);
  bool InputRecomputes(int edge, const Tensor& input) const {
    const Edge& e = edges()[edge];
    return e.node && e.node->recomputes() &&
           static_cast<const RecomputingNode*>(e.node.get())
               ->Gives(input, e.slot);
  }

  std::unique_ptr<State> state_;
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_RECOMPUTING_NODE_H_
