#include "autograd/engine_run.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "autograd/accumulate_grad.h"
#include "autograd/anomaly.h"
#include "autograd/anomaly_check.h"
#include "autograd/grad_dtype.h"
#include "autograd/grad_ops.h"
#include "autograd/grad_state.h"
#include "autograd/node_extras.h"
#include "autograd/sum_so_far.h"
#include "profiler/events.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::autograd {
namespace {

// The right to Node::scratch_ of all nodes, and what only its holder touches.
std::atomic<bool> scratch_taken{false};
uint64_t last_run_id = 0;

bool TryTakeScratch() {
  return !scratch_taken.load(std::memory_order_relaxed) &&
         !scratch_taken.exchange(true, std::memory_order_acquire);
}

// A list of nodes that passes of this thread hand on, for its memory.
thread_local std::vector<Node*> spare_nodes;
constexpr size_t kMaxSpareNodes = 1 << 16;

// The node whose formula runs on this thread, and whether it may take sums.
struct RunningNode {
  EngineRun* run = nullptr;
  Node* node = nullptr;
  bool takes_sums = false;
};
thread_local constinit RunningNode running_node;

class RunningScope {
 public:
  explicit RunningScope(RunningNode node)
      : saved_(std::exchange(running_node, node)) {}
  ~RunningScope() { running_node = saved_; }
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  const RunningNode saved_;
};

std::span<Tensor> GradsOf(Node* node, Tensor& one,
                          const std::unique_ptr<Tensor[]>& many) {
  if (node->num_outputs() == 1) return {&one, 1};
  return {many.get(), many ? static_cast<size_t>(node->num_outputs()) : 0};
}

bool AnyDefined(std::span<const Tensor> tensors) {
  return std::ranges::any_of(tensors,
                             [](const Tensor& t) { return t.defined(); });
}

// Projections for lists sorted by node, and the part of such a list that is
// about one node.
struct NodeOf {
  Node* operator()(const Edge& e) const { return e.node.get(); }
  Node* operator()(const auto& to) const { return to.edge.node.get(); }
};
template <typename List>
auto OfNode(List& list, Node* node) {
  return std::ranges::equal_range(list, node, std::less<>(), NodeOf{});
}

void RunFormula(Node* node, std::span<const Tensor> grads,
                std::span<Tensor> input_grads, bool anomaly) {
  if (anomaly) {
    BackwardInAnomalyMode(*node, grads, input_grads);
  } else {
    node->Backward(grads, input_grads);
  }
}

// Under a range named after the op, "multiply_grad", which knows its forward
// call by the number of the node.
[[gnu::noinline]] void RunRecorded(Node* node, std::span<const Tensor> grads,
                                   std::span<Tensor> input_grads,
                                   bool anomaly) {
  const char* name = profiler::Intern(std::string(node->name()) + "_grad");
  profiler::Range range(name, "backward");
  range.set_correlation(node->sequence());
  RunFormula(node, grads, input_grads, anomaly);
}

bool SameMeta(const Tensor& a, const Tensor& b) {
  return ShapesFit(a.shape(), b.shape()) && a.dtype() == b.dtype() &&
         a.place() == b.place();
}

Tensor CallHook(const Node* node, const TensorHook& hook, const Tensor& grad) {
  Tensor changed = hook(grad);
  if (!changed.defined()) return grad;
  if (!SameMeta(changed, grad)) {
    FailArgument("backward: a hook on ",
                 node->is_accumulate_grad() ? "a leaf" : "an output of ",
                 node->is_accumulate_grad() ? "" : node->name(), " returned ",
                 Describe(changed), " for a gradient that is ", Describe(grad));
  }
  return changed;
}

// `call` may replace some of `tensors`, each by one that is like it.
template <typename Call>
void CallNodeHook(const Node* node, const char* what, std::span<Tensor> tensors,
                  const Call& call) {
  const std::vector<Tensor> before(tensors.begin(), tensors.end());
  call();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].defined() && before[i].defined() &&
        !SameMeta(tensors[i], before[i])) {
      FailArgument("backward: a hook on ", node->name(), " made ", what, " ", i,
                   ", which is ", Describe(before[i]), ", into ",
                   Describe(tensors[i]));
    }
  }
}

}  // namespace

void ReadyNodes::Push(Node* node) {
  if (best_ == nullptr && (heap_.empty() || Earlier(heap_.front(), node))) {
    best_ = node;
    return;
  }
  if (best_ != nullptr && Earlier(best_, node)) std::swap(best_, node);
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(), Earlier);
}

Node* ReadyNodes::Pop() {
  if (best_ != nullptr || heap_.empty()) return std::exchange(best_, nullptr);
  std::pop_heap(heap_.begin(), heap_.end(), Earlier);
  Node* node = heap_.back();
  heap_.pop_back();
  return node;
}

PassScope::PassScope(bool create_graph)
    : saved_interpreters_(thread_interpreters),
      saved_pruned_(internal::pruned_node) {
  // Not forbidden but switched off, so that a node that runs its forward again
  // (recompute) can switch it on.
  thread_interpreters.forced &= ~kAutocast;
  if (create_graph) {
    thread_interpreters.allowed |= kDifferentiate;
  } else {
    thread_interpreters.allowed &= ~kDifferentiate;
  }
  internal::pruned_node = {};
}

PassScope::~PassScope() {
  thread_interpreters = saved_interpreters_;
  internal::pruned_node = saved_pruned_;
}

EngineRun::EngineRun(const BackwardOptions& options, bool capture_only)
    : options_(options),
      capture_only_(capture_only),
      owns_scratch_(TryTakeScratch()),
      anomaly_(GetAnomalyMode() != AnomalyMode::kOff) {
  if (owns_scratch_) {
    id_ = ++last_run_id;
  } else {
    map_ = std::make_unique<Map>();
  }
  nodes_.swap(spare_nodes);
}

EngineRun::~EngineRun() {
  if (owns_scratch_) {
    if (!done_) {
      for (Node* node : nodes_) {
        node->scratch_.grad = Tensor();
        node->scratch_.grads = nullptr;
      }
    }
    scratch_taken.store(false, std::memory_order_release);
  }
  if (nodes_.capacity() <= kMaxSpareNodes) {
    nodes_.clear();
    spare_nodes = std::move(nodes_);
  }
}

void EngineRun::Execute() {
  if (capture_only_) MarkNeeded();
  CountDependencies();
  StartRoots();
  while (Node* node = ready_.Pop()) {
    CheckInterrupt();
    RunNode(node);
  }
  done_ = true;
}

// The small functions of the loop over nodes are inlined by force: it takes a
// third off the cost of a node, and the compiler thinks otherwise.

// --- Which nodes run, and what they wait for
// --------------------------------------

EngineRun::Scratch& EngineRun::InMap(Node* node) {
  Scratch*& scratch = map_->of[node];
  if (scratch == nullptr) scratch = &map_->all.emplace_back();
  return *scratch;
}

[[gnu::always_inline]] inline EngineRun::Scratch& EngineRun::Discover(
    Node* node) {
  Scratch& scratch = At(node);
  if (scratch.run != id_) {
    scratch.run = id_;
    scratch.waiting = 0;
    scratch.marks = 0;
    nodes_.push_back(node);
  }
  return scratch;
}

bool EngineRun::IsBlocked(const Edge& edge, const Scratch& target) const {
  return (target.marks & kBlocked) != 0 &&
         std::ranges::any_of(
             OfNode(blocked_, edge.node.get()),
             [&](const Edge& b) { return b.slot == edge.slot; });
}

[[gnu::always_inline]] inline bool EngineRun::Follows(const Edge& edge) {
  if (!edge.node) return false;
  if (!capture_only_) return true;
  const Scratch& target = At(edge.node.get());
  return (target.marks & (kNeeded | kCapture)) != 0 && !IsBlocked(edge, target);
}

uint64_t EngineRun::UnwantedInputs(Node* node) {
  std::span<const Edge> edges = node->edges();
  uint64_t unwanted = 0;
  for (size_t i = 0; i < edges.size() && i < 64; ++i) {
    if (!Follows(edges[i])) unwanted |= uint64_t{1} << i;
  }
  return unwanted;
}

// Depth first, with a stack of its own; on the way back, a node learns from its
// inputs whether a captured edge can be reached.
void EngineRun::MarkNeeded() {
  struct Frame {
    Node* node;
    size_t next_edge;
  };
  std::vector<Frame> stack;
  const auto reach = [&](const Edge& edge) {
    Scratch& target = Discover(edge.node.get());
    if (IsBlocked(edge, target)) return false;
    if ((target.marks & kSeen) == 0) {
      target.marks |= kSeen;
      stack.push_back({edge.node.get(), 0});
      return false;  // known when its frame is popped
    }
    return (target.marks & (kNeeded | kCapture)) != 0;
  };

  // Sorted by node: there may be as many as a model has parameters.
  std::ranges::sort(captures_, std::less<>(), NodeOf{});
  std::ranges::sort(blocked_, std::less<>(), NodeOf{});
  for (const CaptureTo& c : captures_) {
    Discover(c.edge.node.get()).marks |= kCapture;
  }
  for (const Edge& b : blocked_) Discover(b.node.get()).marks |= kBlocked;
  for (const Root& root : roots_) {
    reach(root.edge);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      Node* node = frame.node;
      if (frame.next_edge < node->edges().size()) {
        const Edge& edge = node->edges()[frame.next_edge++];
        if (edge.node && reach(edge)) At(node).marks |= kNeeded;
        continue;
      }
      stack.pop_back();
      if ((At(node).marks & (kNeeded | kCapture)) != 0 && !stack.empty()) {
        At(stack.back().node).marks |= kNeeded;
      }
    }
  }
}

void EngineRun::CountDependencies() {
  if (capture_only_) {
    for (Node* node : nodes_) {
      constexpr uint32_t kRuns = kSeen | kNeeded;
      if ((At(node).marks & kRuns) != kRuns) continue;
      for (const Edge& edge : node->edges()) {
        if (Follows(edge)) ++At(edge.node.get()).waiting;
      }
    }
    return;
  }
  for (const Root& root : roots_) Discover(root.edge.node.get());
  for (size_t i = 0; i < nodes_.size(); ++i) {  // grows on the way
    for (const Edge& edge : nodes_[i]->edges()) {
      if (edge.node) ++Discover(edge.node.get()).waiting;
    }
  }
}

void EngineRun::StartRoots() {
  for (Root& root : roots_) {
    if (!Follows(root.edge)) continue;
    Deliver(root.edge, At(root.edge.node.get()), std::move(root.grad));
  }
  for (const Root& root : roots_) {
    if (!Follows(root.edge)) continue;
    Scratch& scratch = At(root.edge.node.get());
    if (scratch.waiting != 0 || (scratch.marks & kQueued) != 0) continue;
    scratch.marks |= kQueued;
    ready_.Push(root.edge.node.get());
  }
}

// --- Running
// ----------------------------------------------------------------------

[[gnu::always_inline]] inline void EngineRun::Deliver(const Edge& edge,
                                                      Scratch& target,
                                                      Tensor&& grad) {
  const int outputs = edge.node->num_outputs();
  if (edge.slot >= static_cast<uint32_t>(outputs)) [[unlikely]] {
    Fail(absl::StatusCode::kInternal, "backward: an edge leads to output ",
         edge.slot, " of ", edge.node->name(), ", which has ", outputs,
         " of them (Node::set_num_outputs)");
  }
  if (outputs == 1) {
    AccumulateInto(target.grad, std::move(grad), options_.create_graph);
    return;
  }
  if (target.grads == nullptr) target.grads.reset(new Tensor[outputs]);
  AccumulateInto(target.grads[edge.slot], std::move(grad),
                 options_.create_graph);
}

[[gnu::always_inline]] inline void EngineRun::Send(const Edge& edge,
                                                   Tensor&& grad) {
  if (!Follows(edge)) return;
  Scratch& target = At(edge.node.get());
  if (grad.defined()) Deliver(edge, target, std::move(grad));
  if (--target.waiting == 0) ready_.Push(edge.node.get());
}

void EngineRun::RunNode(Node* node) {
  Scratch& scratch = At(node);
  if (node->extras_ != nullptr || (scratch.marks & kCapture) != 0)
      [[unlikely]] {
    Observe(node, scratch);
  }
  Tensor grad = std::move(scratch.grad);
  std::unique_ptr<Tensor[]> grads = std::move(scratch.grads);
  if (capture_only_ && (scratch.marks & kNeeded) == 0) return;
  if (node->extras_ != nullptr) [[unlikely]]
    RunPreHooks(node, GradsOf(node, grad, grads));
  if (node->is_accumulate_grad()) {
    if (!grad.defined()) return;
    static_cast<AccumulateGrad*>(node)->Accumulate(std::move(grad),
                                                   options_.create_graph);
    if (node->extras_ != nullptr) [[unlikely]]
      RunPostHooks(node, {}, {});
    return;
  }
  Propagate(node, GradsOf(node, grad, grads));
}

void EngineRun::Propagate(Node* node, std::span<Tensor> grads) {
  const size_t inputs = node->edges().size();
  constexpr size_t kFew = 3;
  if (inputs <= kFew) {
    Tensor input_grads[kFew];
    Propagate(node, grads, {input_grads, inputs});
  } else {
    std::vector<Tensor> input_grads(inputs);
    Propagate(node, grads, input_grads);
  }
}

void EngineRun::Propagate(Node* node, std::span<Tensor> grads,
                          std::span<Tensor> input_grads) {
  if (AnyDefined(grads)) {
    if (capture_only_) internal::pruned_node = {node, UnwantedInputs(node)};
    const bool seen =
        node->extras_ != nullptr || options_.create_graph || anomaly_;
    const RunningScope scope({this, node, !seen});
    if (profiler::Enabled()) [[unlikely]] {
      RunRecorded(node, grads, input_grads, anomaly_);
    } else if (anomaly_) [[unlikely]] {
      RunFormula(node, grads, input_grads, true);
    } else {
      node->Backward(grads, input_grads);
    }
    if (node->extras_ != nullptr) [[unlikely]]
      RunPostHooks(node, input_grads, grads);
  }
  if (!options_.retain_graph) node->ReleaseSaved();
  // So that a formula that passes its gradient on makes the next its only
  // owner.
  for (Tensor& grad : grads) grad = Tensor();
  std::span<const Edge> edges = node->edges();
  for (size_t i = 0; i < edges.size(); ++i) {
    Send(edges[i], std::move(input_grads[i]));
  }
}

Tensor EngineRun::TakeSumSoFar(Node* node, int input) {
  const Edge& edge = node->edges()[input];
  if (!Follows(edge)) return {};
  Scratch& target = At(edge.node.get());
  Tensor* sum = edge.node->num_outputs() == 1 ? &target.grad
                : target.grads != nullptr     ? &target.grads[edge.slot]
                                              : nullptr;
  if (sum == nullptr || !sum->defined() || sum->is_symbolic() ||
      !IsSolelyOwned(*sum)) {
    return {};
  }
  return std::move(*sum);
}

Tensor TakeSumSoFar(int i) {
  const RunningNode running = running_node;
  if (!running.takes_sums) return {};
  return running.run->TakeSumSoFar(running.node, i);
}

bool EngineRun::TakesWider(const Node* node, int input) {
  const Edge& edge = node->edges()[input];
  if (!Follows(edge) || edge.node->extras_ != nullptr ||
      (At(edge.node.get()).marks & kCapture) != 0) {
    return false;
  }
  const auto* cast = dynamic_cast<const TakesWiderGrads*>(edge.node.get());
  if (cast == nullptr) return false;
  const DType source = cast->source_dtype();
  return source == DType::kFloat32 || source == DType::kFloat64;
}

DType GradDType(const Node& node, int i, DType own) {
  if (own != DType::kFloat16 && own != DType::kBFloat16) return own;
  const RunningNode running = running_node;
  if (running.node != &node) return own;  // nobody knows who sees it
  return running.run->TakesWider(&node, i) ? DType::kFloat32 : own;
}

// --- Hooks, retained gradients, captures
// ------------------------------------------

void EngineRun::Observe(Node* node, Scratch& scratch) {
  std::span<Tensor> grads = GradsOf(node, scratch.grad, scratch.grads);
  if (grads.empty()) return;
  if (node->extras_ != nullptr) {
    RunHooks(node, grads);
    if (!capture_only_) RetainGrads(node, grads);
  }
  if ((scratch.marks & kCapture) == 0) return;
  for (const CaptureTo& c : OfNode(captures_, node)) {
    *c.result = grads[c.edge.slot];
  }
}

void EngineRun::RunHooks(Node* node, std::span<Tensor> grads) {
  if (node->extras_->hooks.empty()) return;
  // A copy: a hook may remove itself or add others.
  const std::vector<Node::Extras::Hook> hooks = node->extras_->hooks;
  for (const Node::Extras::Hook& hook : hooks) {
    Tensor& grad = grads[hook.slot];
    if (grad.defined()) grad = CallHook(node, *hook.call, grad);
  }
}

void EngineRun::RunPreHooks(Node* node, std::span<Tensor> grads) {
  if (node->extras_->pre_hooks.empty() || !AnyDefined(grads)) return;
  const std::vector<Node::Extras::PreHook> hooks = node->extras_->pre_hooks;
  for (const Node::Extras::PreHook& hook : hooks) {
    CallNodeHook(node, "the gradient of output", grads,
                 [&] { (*hook.call)(grads); });
  }
}

void EngineRun::RunPostHooks(Node* node, std::span<Tensor> input_grads,
                             std::span<const Tensor> grads) {
  if (node->extras_->post_hooks.empty()) return;
  const std::vector<Node::Extras::PostHook> hooks = node->extras_->post_hooks;
  for (const Node::Extras::PostHook& hook : hooks) {
    CallNodeHook(node, "the gradient of input", input_grads,
                 [&] { (*hook.call)(input_grads, grads); });
  }
}

void EngineRun::RetainGrads(Node* node, std::span<Tensor> grads) {
  std::vector<Tensor>
      dropped;  // after the lock: what goes with them may need it
  std::lock_guard lock(node->extras_->mu);
  for (const Node::Extras::Retained& r : node->extras_->retained) {
    Tensor grad = grads[r.slot];
    if (!grad.defined()) continue;
    Tensor& sum = r.state->grad;
    if (sum.defined()) {
      dropped.push_back(
          AccumulateInto(sum, std::move(grad), options_.create_graph));
    } else {
      sum = Unshared(grad);
    }
  }
}

}  // namespace proa::inline v0::autograd
