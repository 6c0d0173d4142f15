// What a recorded graph holds in memory between forward and backward: the bytes
// that nodes saved, each storage once, by op and by the name that the op's
// formula has for the tensor.
#ifndef PROA_AUTOGRAD_SAVED_SUMMARY_H_
#define PROA_AUTOGRAD_SAVED_SUMMARY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

struct SavedSummary {
  // What holds the elements of a saved tensor besides the graph.
  enum class Group : uint8_t {
    kActivation,  // computed with gradients: as a rule nobody
    kLeaf,        // a leaf that requires grad, or a view of one: the model
    kConstant,    // requires no grad: as a rule who gave it
    kPacked,      // saved-tensor hooks; bytes are those of what was packed
  };
  struct Row {
    Group group = Group::kActivation;
    std::string op;    // "multiply"
    std::string name;  // "x"
    int64_t tensors = 0;
    // Of the storages that no row before, in the order of backward, has.
    int64_t bytes = 0;
  };
  std::vector<Row> rows;  // groups in order, in each the largest first
  int64_t nodes = 0;      // ops; leaves are none

  int64_t bytes(Group group) const;
};

SavedSummary SummarizeSaved(std::span<const Tensor> outputs);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_SAVED_SUMMARY_H_
