#include "autograd/recomputing_node.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "tensor/interpreters.h"
#include "tensor/storage.h"

namespace proa::inline v0::autograd {
namespace {

// Of outputs that are computed from one another: a residual chain of a stage.
// It bounds the stack too.
constexpr int kMostDepth = 8;

std::atomic<bool> recompute_outputs{true};

}  // namespace

bool RecomputeOutputs() {
  return recompute_outputs.load(std::memory_order_relaxed);
}

void SetRecomputeOutputs(bool on) {
  recompute_outputs.store(on, std::memory_order_relaxed);
}

struct RecomputingNode::State {
  std::mutex mutex;  // backward may run on several threads
  Tensor recomputed;
  const Storage* storage = nullptr;  // of the first output
  uint32_t version = 0;
  int depth = 0;
  std::atomic<bool> relied_on{false};
};

RecomputingNode::RecomputingNode() = default;
RecomputingNode::~RecomputingNode() = default;

void RecomputingNode::AllowRecompute(const Tensor& output) {
  if (!RecomputeOutputs() || output.is_symbolic() || !output.storage()) return;
  int depth = 0;
  for (const Edge& edge : edges()) {
    if (edge.node && edge.node->recomputes() && edge.slot == 0) {
      const auto& node = static_cast<const RecomputingNode&>(*edge.node);
      depth = std::max(depth, node.state_->depth + 1);
    }
  }
  if (depth >= kMostDepth) return;
  state_ = std::make_unique<State>();
  state_->depth = depth;
  state_->storage = output.storage().get();
  state_->version = output.version();
  set_recomputes();
}

bool RecomputingNode::Gives(const Tensor& t, uint32_t slot) const {
  return slot == 0 && t.storage().get() == state_->storage &&
         t.version() == state_->version;
}

void RecomputingNode::NoteReliance() {
  state_->relied_on.store(true, std::memory_order_relaxed);
}

Tensor RecomputingNode::Recomputed() { return Recomputed(/*keep=*/true); }

Tensor RecomputingNode::RecomputedInput(int edge) {
  auto& node = static_cast<RecomputingNode&>(*edges()[edge].node);
  // What nobody else asks for would be held for nothing.
  return node.Recomputed(node.state_->relied_on.load());
}

Tensor RecomputingNode::Recomputed(bool keep) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->recomputed.defined()) return state_->recomputed;
  }
  const InterpreterScope plain =
      InterpreterScope::Forbid(kDifferentiate | kAutocast);
  Tensor result = Recompute();
  if (!keep) return result;
  const std::lock_guard lock(state_->mutex);
  state_->recomputed = result;
  return result;
}

void RecomputingNode::ForgetRecomputed() {
  if (state_ == nullptr) return;
  const std::lock_guard lock(state_->mutex);
  state_->recomputed = Tensor();
}

}  // namespace proa::inline v0::autograd
