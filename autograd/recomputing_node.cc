#include "autograd/recomputing_node.h"

#include <algorithm>
#include <atomic>

#include "tensor/interpreters.h"

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

void RecomputingNode::AllowRecompute(const Tensor& output) {
  if (!RecomputeOutputs() || output.is_symbolic() || !output.storage()) return;
  for (const Edge& edge : edges()) {
    if (edge.node && edge.node->recomputes() && edge.slot == 0)
      depth_ = std::max(
          depth_,
          static_cast<const RecomputingNode*>(edge.node.get())->depth_ + 1);
  }
  if (depth_ >= kMostDepth) {
    depth_ = 0;
    return;
  }
  storage_ = output.storage().get();
  version_ = output.version();
  set_recomputes();
}

bool RecomputingNode::Gives(const Tensor& t, uint32_t slot) const {
  return slot == 0 && t.storage().get() == storage_ && t.version() == version_;
}

Tensor RecomputingNode::Recomputed() {
  {
    const std::lock_guard lock(mutex_);
    if (recomputed_.defined()) return recomputed_;
  }
  const InterpreterScope plain =
      InterpreterScope::Forbid(kDifferentiate | kAutocast);
  Tensor result = Recompute();
  const std::lock_guard lock(mutex_);
  recomputed_ = result;
  return result;
}

void RecomputingNode::ForgetRecomputed() {
  const std::lock_guard lock(mutex_);
  recomputed_ = Tensor();
}

}  // namespace proa::inline v0::autograd
