// EngineRun: one backward pass. Counts what each node waits for, then runs
// nodes as they become ready, later ones first. Internal to this room; see
// engine.h.
//
//   PassScope scope(options.create_graph);
//   EngineRun run(options, /*capture_only=*/false);
//   run.AddRoot(edge_of_output, grad_of_output);
//   run.Execute();
//
// What a pass knows of a node is kept on the node itself (Node::Scratch), so
// that the usual pass hashes and allocates nothing. There is one right to these
// fields in the process; a pass that finds it taken (another thread's, or one
// within which this one runs) keeps the same in a map, and is slower.
#ifndef PROA_AUTOGRAD_ENGINE_RUN_H_
#define PROA_AUTOGRAD_ENGINE_RUN_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "autograd/engine.h"
#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// Ready nodes, the one made last first. The best one is held outside of the
// heap, so that a chain, where each node readies one other, never touches it.
class ReadyNodes {
 public:
  void Push(Node* node);
  Node* Pop();  // null if there are none

 private:
  static bool Earlier(const Node* a, const Node* b) {
    return a->sequence() < b->sequence();
  }
  Node* best_ = nullptr;
  std::vector<Node*> heap_;
};

// What is active on the thread during a pass, see engine.h.
class PassScope {
 public:
  explicit PassScope(bool create_graph);
  ~PassScope();
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  const ThreadInterpreters saved_interpreters_;
  const internal::PrunedNode saved_pruned_;
};

class EngineRun {
 public:
  // `capture_only`: leaves accumulate nothing, and only what leads to captured
  // edges runs.
  EngineRun(const BackwardOptions& options, bool capture_only);
  ~EngineRun();
  EngineRun(const EngineRun&) = delete;
  EngineRun& operator=(const EngineRun&) = delete;

  void AddRoot(Edge edge, Tensor grad) {
    roots_.push_back({std::move(edge), std::move(grad)});
  }
  // With capture_only: the gradient that arrives at `edge` goes to *result.
  void Capture(Edge edge, Tensor* result) {
    captures_.push_back({std::move(edge), result});
  }
  // With capture_only: no gradient flows through `edge`.
  void Block(Edge edge) { blocked_.push_back(std::move(edge)); }
  void Execute();

  // What sum_so_far.h says, of a node that this runs.
  Tensor TakeSumSoFar(Node* node, int input);
  // Whether the gradient of an input of a node that this runs goes to a cast of
  // something wider, unseen (grad_dtype.h).
  bool TakesWider(const Node* node, int input);

 private:
  using Scratch = Node::Scratch;
  // Bits of Scratch::marks. Without capture_only: kQueued only.
  enum : uint32_t {
    kQueued = 1,    // a root that was made ready
    kSeen = 2,      // reached from the roots
    kNeeded = 4,    // a captured edge can be reached from it
    kCapture = 8,   // some output is captured
    kBlocked = 16,  // some output is blocked
  };
  struct Root {
    Edge edge;
    Tensor grad;
  };
  struct CaptureTo {
    Edge edge;
    Tensor* result;
  };

  Scratch& At(Node* node) {
    return owns_scratch_ ? node->scratch_ : InMap(node);
  }
  Scratch& InMap(Node* node);  // made by its first use
  Scratch& Discover(Node* node);
  // False for edges that this pass does not follow.
  bool Follows(const Edge& edge);
  bool IsBlocked(const Edge& edge, const Scratch& target) const;
  uint64_t UnwantedInputs(Node* node);

  // In this order:
  void MarkNeeded();
  void CountDependencies();
  void StartRoots();
  void RunNode(Node* node);

  // Adds to what has arrived at an output of a node.
  void Deliver(const Edge& edge, Scratch& target, Tensor&& grad);
  // The same, and the node may become ready.
  void Send(const Edge& edge, Tensor&& grad);
  // Hooks, retained gradients and captures of a node that is ready.
  void Observe(Node* node, Scratch& scratch);
  void RunHooks(Node* node, std::span<Tensor> grads);
  void RunPreHooks(Node* node, std::span<Tensor> grads);
  void RunPostHooks(Node* node, std::span<Tensor> input_grads,
                    std::span<const Tensor> grads);
  void RetainGrads(Node* node, std::span<Tensor> grads);
  void Propagate(Node* node, std::span<Tensor> grads);
  void Propagate(Node* node, std::span<Tensor> grads,
                 std::span<Tensor> input_grads);

  const BackwardOptions options_;
  const bool capture_only_;
  const bool owns_scratch_;
  const bool anomaly_;  // anomaly mode is on
  uint64_t id_ = 1;
  bool done_ = false;
  absl::InlinedVector<Root, 1> roots_;
  std::vector<CaptureTo> captures_;
  std::vector<Edge> blocked_;
  std::vector<Node*> nodes_;  // all that were discovered
  ReadyNodes ready_;
  struct Map {
    std::unordered_map<Node*, Scratch*> of;
    std::deque<Scratch> all;
  };
  std::unique_ptr<Map> map_;  // without the right to the nodes' scratch
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_ENGINE_RUN_H_
