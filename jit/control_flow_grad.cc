// Gradients of recorded control flow.
//
// The backward of `cond` is another `cond` with the same predicate: each region
// replays the forward branch on detached copies of what it reads, with grad on,
// and asks the engine for the gradients of the reads. Recomputing keeps the
// forward free of extra outputs, and the result is itself recorded and
// differentiable. A recorded loop has no gradient: its node says so when
// backward reaches it.
#include <algorithm>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "jit/control_flow.h"
#include "jit/evaluate.h"
#include "jit/recorder.h"
#include "ops/creation/full_ops.h"
#include "ops/front_door.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

using autograd::Edge;
using autograd::GradEdge;
using autograd::MakeNode;
using autograd::RequiresGrad;

ValueId IdOf(const Program& program, const Tensor& t) {
  if (t.is_symbolic()) return SymbolOf(t).id();
  for (ValueId id : program.captured()) {
    if (program.value(id).captured.is_same(t)) return id;
  }
  return kNoValue;
}

Tensor ZerosLike(const Tensor& t) {
  return ops::full(ops::ShapeOf(t), Scalar(int64_t{0}), t.dtype(), t.place());
}

class CondNode final : public autograd::Node {
 public:
  CondNode(const RecordedCond& cond, std::vector<Tensor> inputs)
      : cond_(cond), inputs_(std::move(inputs)) {}

  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    std::vector<size_t> wanted;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (needs_input_grad(static_cast<int>(i))) wanted.push_back(i);
    }
    const TensorList out = Cond(
        cond_.predicate,
        [&] { return BranchGrads(*cond_.then, grads, wanted); },
        [&] { return BranchGrads(*cond_.otherwise, grads, wanted); });
    for (size_t k = 0; k < wanted.size(); ++k) input_grads[wanted[k]] = out[k];
  }
  const char* name() const override { return "cond"; }

 private:
  // Gradients of the wanted inputs through one branch; zeros where it does not
  // depend on them.
  TensorList BranchGrads(const Block& branch, std::span<const Tensor> grads,
                         const std::vector<size_t>& wanted) const {
    const Program& program = *cond_.program;
    Environment env = MakeEnvironment(program);
    for (const Tensor& t : cond_.reads) {
      if (t.is_symbolic()) env[SymbolOf(t).id()] = t;
    }
    std::vector<Tensor> leaves;
    for (size_t i : wanted) {
      Tensor leaf = autograd::Detach(inputs_[i]);
      autograd::SetRequiresGrad(leaf, true);
      env[IdOf(program, inputs_[i])] = leaf;
      leaves.push_back(std::move(leaf));
    }
    TensorList found;
    {
      const InterpreterScope scope = InterpreterScope::Allow(kDifferentiate);
      const TensorList results = EvaluateRegion(program, branch, {}, env);
      std::vector<Tensor> outputs, output_grads;
      for (size_t i = 0; i < results.size(); ++i) {
        if (RequiresGrad(results[i]) && grads[i].defined()) {
          outputs.push_back(results[i]);
          output_grads.push_back(grads[i]);
        }
      }
      if (outputs.empty()) {
        found.resize(leaves.size());
      } else {
        found = autograd::Grad(outputs, leaves, output_grads, {},
                               /*allow_unused=*/true, {});
      }
    }
    for (size_t k = 0; k < found.size(); ++k) {
      if (!found[k].defined()) found[k] = ZerosLike(leaves[k]);
    }
    return found;
  }

  RecordedCond cond_;
  std::vector<Tensor> inputs_;
};

void DifferentiateRecordedCond(const RecordedCond& cond,
                               std::span<const Tensor> results) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : cond.reads) {
    if (RequiresGrad(t)) inputs.push_back(t);
  }
  if (inputs.empty()) return;
  const auto node = MakeNode<CondNode>(cond, inputs);
  for (const Tensor& t : inputs) node->AddEdge(GradEdge(t));
  node->set_num_outputs(static_cast<int>(results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    autograd::SetHistory(results[i], node, static_cast<uint32_t>(i));
  }
}

class LoopNode final : public autograd::Node {
 public:
  void Backward(std::span<const Tensor>, std::span<Tensor>) override {
    Fail(absl::StatusCode::kUnimplemented,
         "while_loop: a recorded loop has no gradient; unroll it, or run it in "
         "eager mode");
  }
  const char* name() const override { return "while_loop"; }
};

void DifferentiateRecordedLoop(std::span<const Tensor> reads,
                               std::span<const Tensor> results) {
  const auto node = MakeNode<LoopNode>();
  for (const Tensor& t : reads) {
    if (RequiresGrad(t)) node->AddEdge(GradEdge(t));
  }
  if (node->edges().empty()) return;
  node->set_num_outputs(static_cast<int>(results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    autograd::SetHistory(results[i], node, static_cast<uint32_t>(i));
  }
}

const bool installed = [] {
  InstallControlFlowGrad(&DifferentiateRecordedCond,
                         &DifferentiateRecordedLoop);
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::jit
