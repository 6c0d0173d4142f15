// Goes through a backward graph from its outputs to its leaves, each node once,
// in the order in which backward runs them: later made ones first, leaves as
// they are met. Does not recurse. Internal to this room.
#ifndef PROA_AUTOGRAD_GRAPH_WALK_H_
#define PROA_AUTOGRAD_GRAPH_WALK_H_

#include <queue>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

class GraphWalk {
 public:
  // Outputs without history, or undefined, add nothing.
  explicit GraphWalk(std::span<const Tensor> outputs) {
    for (const Tensor& t : outputs) {
      if (t.defined()) Add(GradEdge(t).node.get());
    }
  }
  explicit GraphWalk(Node* root) { Add(root); }

  // The next node; null at the end.
  Node* Next() {
    if (ready_.empty()) return nullptr;
    Node* node = ready_.top();
    ready_.pop();
    for (const Edge& edge : node->edges()) Add(edge.node.get());
    return node;
  }

 private:
  struct Earlier {
    bool operator()(const Node* a, const Node* b) const {
      return a->sequence() < b->sequence();
    }
  };
  void Add(Node* node) {
    if (node != nullptr && seen_.insert(node).second) ready_.push(node);
  }

  absl::flat_hash_set<const Node*> seen_;
  std::priority_queue<Node*, std::vector<Node*>, Earlier> ready_;
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_GRAPH_WALK_H_
