// Node: one recorded operation of the backward graph, and Edge: a way from a
// node to the producer of one of its inputs.
//
// A generated node holds exactly what the gradient formulas of its op name. The
// engine owns no op; a node may come from a schema, a custom function or a
// test:
//
//   IntrusivePtr<MultiplyNode> node = MakeNode<MultiplyNode>();
//   node->AddEdge(GradEdge(x));
//   node->AddEdge(GradEdge(y));
//   node->x = SavedTensor(x);
//   node->y = SavedTensor(y);
//   Tensor out = <the forward kernel>;
//   SetHistory(out, std::move(node), 0);
//
// A node is built by one thread; when it hangs on a tensor, its edges are
// final.
#ifndef PROA_AUTOGRAD_NODE_H_
#define PROA_AUTOGRAD_NODE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "autograd/anomaly.h"
#include "tensor/block_pool.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

class Node;
class SavedTensor;

// Where the gradient of an input goes: output number `slot` of `node`. An empty
// edge means that no gradient is needed.
struct Edge {
  IntrusivePtr<Node> node;
  uint32_t slot = 0;
};

// `hook(grad)` may return a replacement, or an undefined tensor to keep it.
using TensorHook = std::function<Tensor(const Tensor&)>;
// Sees, and may replace, what arrived at the outputs of a node before its
// formula runs; undefined where nothing did.
using NodePreHook = std::function<void(std::span<Tensor> grads)>;
// Sees what arrived, and may replace what the formula made of it.
using NodePostHook = std::function<void(std::span<Tensor> input_grads,
                                        std::span<const Tensor> grads)>;
// Is given each tensor that a node saved, with the name that the node's formula
// has for it.
using SavedVisitor = std::function<void(const char*, const SavedTensor&)>;

namespace internal {
// The next number of this thread, and the end of the block that it took from
// the process (node.cc): numbers are unique, and rise along a thread.
struct SequenceBlock {
  uint64_t next = 0;
  uint64_t end = 0;
};
extern thread_local constinit SequenceBlock sequence_block
    __attribute__((tls_model("initial-exec")));
void RefillSequenceBlock();

// The node that runs on this thread, and its inputs whose gradients nobody
// asked for, a bit each. Set by Grad() only, which prunes (engine_run.cc). It
// names the node, because a formula that runs may record further nodes.
struct PrunedNode {
  const Node* node = nullptr;
  uint64_t unwanted_inputs = 0;
};
extern thread_local constinit PrunedNode pruned_node
    __attribute__((tls_model("initial-exec")));

// In anomaly mode, the node whose formula runs on this thread.
extern thread_local constinit const Node* traced_node;
}  // namespace internal

class Node : public RefCounted {
 public:
  // `grads[i]` is the gradient of output i; undefined where none flowed in (the
  // engine guarantees that at least one is defined). Writes `input_grads[i]`
  // where `needs_input_grad(i)`; an undefined result means zero.
  virtual void Backward(std::span<const Tensor> grads,
                        std::span<Tensor> input_grads) = 0;
  // The op, for messages and graph printing: "multiply".
  virtual const char* name() const = 0;
  // Drops what the node saved; called after Backward unless retain_graph.
  virtual void ReleaseSaved() {}
  // For reports: what the node saved and not yet released (a list: one by one).
  virtual void VisitSaved(const SavedVisitor& visit) const {}
  // For messages: what the op calls input `i`; "" if it has no name for it.
  virtual std::string InputName(int i) const { return {}; }

  std::span<Edge> edges() { return {edges_.data(), edges_.size()}; }
  std::span<const Edge> edges() const { return {edges_.data(), edges_.size()}; }
  void AddEdge(Edge e) { edges_.push_back(std::move(e)); }
  // False for inputs that do not require grad, and while Backward runs also for
  // those that no requested gradient depends on.
  bool needs_input_grad(int i) const {
    const internal::PrunedNode& pruned = internal::pruned_node;
    if (pruned.node == this && i < 64 &&
        (pruned.unwanted_inputs >> i & 1) != 0) {
      return false;
    }
    return static_cast<bool>(edges_[i].node);
  }
  int num_outputs() const { return num_outputs_; }
  void set_num_outputs(int n) { num_outputs_ = n; }

  // Whether this is a RecomputingNode (recomputing_node.h) that computes its
  // first output again where it was saved.
  bool recomputes() const { return recomputes_; }

  // Larger = made later; the engine runs later nodes first.
  uint64_t sequence() const { return sequence_; }

  // Hooks on the gradient of output `slot`, in order of registration. The id is
  // unique in the process. Not to be called while another thread runs backward
  // over this node.
  int64_t AddHook(uint32_t slot, TensorHook hook);
  // Hooks on the node as a whole, in order of registration. Before its formula:
  // after the hooks above, with the gradients of all outputs. After its
  // formula: replaced gradients must keep shape, dtype and place. At a leaf,
  // those after run when the gradient lies in the leaf, with empty spans.
  int64_t AddPreHook(NodePreHook hook);
  int64_t AddPostHook(NodePostHook hook);
  // Of any of these kinds; false if there is none of that id.
  bool RemoveHook(int64_t id);
  // The hooks, in order; for those who own what a hook refers to.
  void VisitHooks(
      const std::function<void(const TensorHook&)>& tensor_hook,
      const std::function<void(const NodePreHook&)>& pre_hook,
      const std::function<void(const NodePostHook&)>& post_hook) const;

  // True for the node at a leaf, which accumulates.
  bool is_accumulate_grad() const { return sequence_ == kLeafSequence; }
  // Where the op was called, if anomaly mode was on; else "".
  std::string ForwardPlace() const;

  static void Destroy(Node* node);  // iterative: long chains do not recurse

  // Blocks of the thread's pool, which serves any node of up to 512 bytes.
  static void* operator new(size_t bytes);
  static void operator delete(void* block, size_t bytes);

 protected:
  Node() : Node(NextSequence()) {
    if (GetAnomalyMode() != AnomalyMode::kOff) [[unlikely]]
      RecordForwardPlace();
  }
  virtual ~Node() {
    if (extras_ != nullptr) [[unlikely]]
      DestroyExtras();
  }
  void set_recomputes() { recomputes_ = true; }

 private:
  friend class AccumulateGrad;
  friend class EngineRun;
  friend class GradState;

  // What the engine keeps on a node during a run. Only the run that holds the
  // process's scratch right touches it (engine_run.h).
  struct Scratch {
    union {
      uint64_t run = 0;   // which run the rest belongs to
      Node* next_doomed;  // while it waits for its destructor (node.cc)
    };
    int32_t waiting = 0;              // gradients that are still to come
    uint32_t marks = 0;               // bits of EngineRun
    Tensor grad;                      // sum so far, of a node with one output
    std::unique_ptr<Tensor[]> grads;  // the same, of one with several outputs
  };

  // Hooks and retained gradients (node_extras.h), behind a pointer so that a
  // plain node stays small.
  struct Extras;
  Extras& GetExtras();
  void DestroyExtras();
  void RecordForwardPlace();

  static uint64_t NextSequence() {
    internal::SequenceBlock& block = internal::sequence_block;
    if (block.next == block.end) [[unlikely]]
      internal::RefillSequenceBlock();
    return block.next++;
  }

  // Accumulation nodes, which are ready to run at any time, run at once.
  static constexpr uint64_t kLeafSequence = ~uint64_t{0};
  explicit Node(uint64_t sequence) : sequence_(sequence) {}

  int num_outputs_ = 1;
  bool recomputes_ = false;
  absl::InlinedVector<Edge, 2> edges_;
  uint64_t sequence_;
  Extras* extras_ = nullptr;
  Scratch scratch_;
};

// A node on the heap; T is derived from Node.
template <typename T, typename... Args>
IntrusivePtr<T> MakeNode(Args&&... args) {
  return IntrusivePtr<T>::Adopt(new T(std::forward<Args>(args)...));
}

namespace internal {
struct NodeBlocks;
// Calls `f(pool)` with the pool of the size class; with a constant `bytes`, as
// in every `new` and `delete`, the choice is made when compiling.
template <typename F>
inline void WithNodePool(size_t bytes, F&& f) {
  constexpr int kKeep = 4096;
#define PROA_NODE_POOL(size) \
  if (bytes <= size) return f(BlockPool<size, 16, kKeep, NodeBlocks>())
  PROA_NODE_POOL(112);
  PROA_NODE_POOL(128);
  PROA_NODE_POOL(144);
  PROA_NODE_POOL(160);
  PROA_NODE_POOL(192);
  PROA_NODE_POOL(256);
  PROA_NODE_POOL(384);
  PROA_NODE_POOL(512);
#undef PROA_NODE_POOL
}
inline constexpr size_t kMaxPooledNode = 512;
}  // namespace internal

inline void* Node::operator new(size_t bytes) {
  if (bytes > internal::kMaxPooledNode) return ::operator new(bytes);
  void* block = nullptr;
  internal::WithNodePool(bytes, [&](auto pool) { block = pool.Take(); });
  return block;
}
inline void Node::operator delete(void* block, size_t bytes) {
  if (bytes > internal::kMaxPooledNode) return ::operator delete(block);
  internal::WithNodePool(bytes, [&](auto pool) { pool.Give(block); });
}

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_NODE_H_
