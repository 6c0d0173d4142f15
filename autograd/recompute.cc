#include "autograd/recompute.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "autograd/accumulate_grad.h"
#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/shape.h"

namespace proa::inline v0::autograd {
namespace {

// The border of the function: what arrives here is a gradient of the call.
class BorderNode final : public Node {
 public:
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    input_grads[0] = grads[0];
  }
  const char* name() const override { return "recompute border"; }
};

IntrusivePtr<Node> Border(Edge outside) {
  auto node = MakeNode<BorderNode>();
  node->AddEdge(std::move(outside));
  return node;
}

// Nodes number upward along a thread: what the function recorded has a higher
// number than `start`, except for leaves.
bool IsOutside(const Edge& edge, uint64_t start) {
  return edge.node->sequence() <= start ||
         dynamic_cast<const AccumulateGrad*>(edge.node.get()) != nullptr;
}

// Containers here are those of the standard library: Abseil's do not survive an
// allocation that fails.

// Calls `leaves(edge)` with each edge out of what was recorded after `start`;
// it may change the edge.
template <typename F>
void WalkInside(std::span<Edge> roots, uint64_t start, F&& leaves) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> stack;
  const auto visit = [&](Edge& edge) {
    if (!edge.node) return;
    if (IsOutside(edge, start)) return leaves(edge);
    if (seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
  };
  for (Edge& root : roots) visit(root);
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (Edge& edge : node->edges()) visit(edge);
  }
}

using EdgeKey = std::pair<const Node*, uint32_t>;
EdgeKey KeyOf(const Edge& edge) { return {edge.node.get(), edge.slot}; }

std::vector<Edge> EdgesOf(std::span<const Tensor> outputs) {
  std::vector<Edge> edges;
  for (const Tensor& t : outputs) edges.push_back(GradEdge(t));
  return edges;
}

// Names an edge for Grad; has no elements.
Tensor HandleOf(const Edge& edge) {
  Tensor t = Tensor::Symbolic({}, DType::kFloat32);
  SetHistory(t, edge.node, edge.slot);
  return t;
}

struct OutputMeta {
  explicit OutputMeta(const Tensor& t) : shape(t.shape()), dtype(t.dtype()) {}
  Shape shape;
  DType dtype;
};

class RecomputeNode final : public Node {
 public:
  RecomputeNode(RecomputedFunction function, std::span<const Tensor> inputs)
      : function_(std::move(function)),
        num_inputs_(inputs.size()),
        autocast_(thread_interpreters.forced & kAutocast),
        autocast_settings_(thread_interpreters.autocast) {
    for (const Tensor& t : inputs) {
      saved_.emplace_back(t);
      AddEdge(GradEdge(t));
    }
  }

  std::vector<Tensor> FirstRun(std::span<const Tensor> inputs) {
    std::vector<Tensor> inside;
    for (const Tensor& t : inputs) {
      inside.push_back(t.defined() ? Detach(t) : t);
      if (GradEdge(t).node) {
        SetHistory(inside.back(), Border(Edge{}), 0);
      }
    }
    const uint64_t start = MakeNode<BorderNode>()->sequence();
    std::vector<Tensor> outputs = function_(inside);
    CheckUnchanged();
    std::vector<Edge> roots = EdgesOf(outputs);
    std::set<EdgeKey> known;
    for (const Tensor& t : inside) known.insert(KeyOf(GradEdge(t)));
    bool records = false;
    for (const Edge& root : roots) records |= static_cast<bool>(root.node);
    WalkInside(roots, start, [&](Edge& edge) {
      if (!known.insert(KeyOf(edge)).second) return;
      AddEdge(edge);
      outside_.push_back(edge);
    });
    return records ? Own(outputs) : outputs;
  }

  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    const bool create_graph = GradEnabled();
    ThreadInterpreters run = thread_interpreters;
    run.allowed |= kDifferentiate;
    run.forced |= autocast_;
    run.autocast = autocast_settings_;
    std::vector<Tensor> wanted(edges().size());
    std::vector<Tensor> outputs, output_grads;
    const std::vector<Tensor> made = Again(run, wanted);
    for (size_t i = 0; i < made.size(); ++i) {
      if (!grads[i].defined() || !RequiresGrad(made[i])) continue;
      outputs.push_back(made[i]);
      output_grads.push_back(grads[i]);
    }
    std::vector<Tensor> targets;
    std::vector<size_t> places;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i].defined() || !needs_input_grad(static_cast<int>(i))) {
        continue;
      }
      targets.push_back(wanted[i]);
      places.push_back(i);
    }
    if (outputs.empty() || targets.empty()) return;
    std::vector<Tensor> found =
        Grad(outputs, targets, output_grads,
             {.retain_graph = create_graph, .create_graph = create_graph},
             /*allow_unused=*/true, {});
    for (size_t k = 0; k < found.size(); ++k) {
      input_grads[places[k]] = std::move(found[k]);
    }
  }
  const char* name() const override { return "recompute"; }
  void ReleaseSaved() override {
    for (SavedTensor& s : saved_) s.Release();
    function_ = nullptr;
  }
  void VisitSaved(const SavedVisitor& visit) const override {
    for (const SavedTensor& s : saved_) visit("input", s);
  }

 private:
  void CheckUnchanged() {
    for (const SavedTensor& s : saved_) s.Get(*this);
  }

  // New handles with this node as their history.
  std::vector<Tensor> Own(const std::vector<Tensor>& outputs) {
    std::vector<Tensor> own;
    set_num_outputs(static_cast<int>(outputs.size()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs_.emplace_back(outputs[i]);
      own.push_back(Detach(outputs[i]));
      if (RequiresGrad(outputs[i])) {
        SetHistory(own.back(), IntrusivePtr<Node>::Share(this),
                   static_cast<uint32_t>(i));
      }
    }
    return own;
  }

  // The results with their graph, which ends in border nodes; `wanted[i]` names
  // the border that stands for edge i of this node.
  std::vector<Tensor> Again(const ThreadInterpreters& run,
                            std::span<Tensor> wanted) {
    if (!function_) {
      Fail(absl::StatusCode::kFailedPrecondition,
           "backward: what recompute kept was freed by the first backward, so "
           "it cannot run backward a second time; pass retain_graph=True to "
           "the first");
    }
    std::map<EdgeKey, Edge> borders;
    std::vector<Tensor> inside;
    for (size_t i = 0; i < num_inputs_; ++i) {
      const Tensor t = saved_[i].Get(*this);
      inside.push_back(t.defined() ? Detach(t) : t);
      const Edge& outside = edges()[i];
      if (!outside.node) continue;
      Edge border{Border(outside), 0};
      SetHistory(inside.back(), border.node, 0);
      wanted[i] = HandleOf(border);
      borders[KeyOf(border)] = border;
    }
    const uint64_t start = MakeNode<BorderNode>()->sequence();
    std::vector<Tensor> made;
    {
      const ThreadInterpreters saved = std::exchange(thread_interpreters, run);
      struct Restore {
        const ThreadInterpreters& to;
        ~Restore() { thread_interpreters = to; }
      } restore{saved};
      made = function_(inside);
    }
    CheckUnchanged();
    CheckLikeFirst(made);
    for (size_t i = num_inputs_; i < edges().size(); ++i) {
      const Edge border{Border(edges()[i]), 0};
      wanted[i] = HandleOf(border);
      borders[KeyOf(outside_[i - num_inputs_])] = border;
    }
    std::vector<Edge> roots = EdgesOf(made);
    WalkInside(roots, start, [&](Edge& edge) {
      // The border in its place: hooks at what lies outside run in the pass
      // that this node is part of, not in the one within.
      if (auto it = borders.find(KeyOf(edge)); it != borders.end()) {
        edge = it->second;
      }
    });
    for (size_t i = 0; i < made.size(); ++i) {
      if (!roots[i].node) continue;
      Tensor t = Detach(made[i]);
      SetHistory(t, roots[i].node, roots[i].slot);
      made[i] = std::move(t);
    }
    return made;
  }

  void CheckLikeFirst(const std::vector<Tensor>& made) const {
    PROA_REQUIRE(made.size() == outputs_.size(),
                 "recompute: the function gave ", outputs_.size(),
                 " tensors, and ", made.size(), " when it ran again");
    for (size_t i = 0; i < made.size(); ++i) {
      PROA_REQUIRE(
          ShapesFit(made[i].shape(), outputs_[i].shape) &&
              made[i].dtype() == outputs_[i].dtype,
          "recompute: result ", i, " of the function was ",
          Describe(Tensor::Symbolic(outputs_[i].shape, outputs_[i].dtype)),
          ", and ", Describe(made[i]), " when it ran again");
    }
  }

  RecomputedFunction function_;
  const size_t num_inputs_;
  const Interpreters autocast_;
  const uint32_t autocast_settings_;
  std::vector<SavedTensor> saved_;
  // Edges out of the function other than to inputs, as it records them. This
  // node's own may lead to borders of a recomputation around it.
  std::vector<Edge> outside_;
  std::vector<OutputMeta> outputs_;
};

}  // namespace

std::vector<Tensor> Recompute(RecomputedFunction function,
                              std::span<const Tensor> inputs) {
  if (!GradEnabled()) return function(inputs);
  const auto node = MakeNode<RecomputeNode>(std::move(function), inputs);
  return node->FirstRun(inputs);
}

}  // namespace proa::inline v0::autograd
