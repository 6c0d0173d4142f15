// Gradients of recorded operations with regions.
//
// The backward of `cond` is another `cond` with the same predicate: each region
// replays the forward branch on detached copies of what it reads, with grad on,
// and asks the engine for the gradients of the reads. That of `while` is a
// `reverse_loop`: the loop again, and for each turn from the last to the first
// the body on detached copies of the variables that the turn had. Recomputing
// keeps the forward free of extra outputs, and the results of `cond` are
// differentiable again. What a region draws at random is drawn again from the
// same state of the generator; what it changes is not changed again.
#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "jit/control_flow.h"
#include "jit/evaluate.h"
#include "jit/random_state.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "jit/uses.h"
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/front_door.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

using autograd::Edge;
using autograd::GradEdge;
using autograd::MakeNode;
using autograd::RequiresGrad;

Tensor AsLeaf(Tensor t) {
  autograd::SetRequiresGrad(t, true);
  return t;
}

bool Differentiates(const ValueUse& use) {
  return use.tensor.defined() && RequiresGrad(use.tensor);
}

void Hang(const IntrusivePtr<autograd::Node>& node,
          std::span<const ValueUse> inputs, std::span<const Tensor> results) {
  for (const ValueUse& use : inputs) node->AddEdge(GradEdge(use.tensor));
  node->set_num_outputs(static_cast<int>(results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    autograd::SetHistory(results[i], node, static_cast<uint32_t>(i));
  }
}

// What the nodes below have in common: a recorded operation, whose regions they
// replay. It holds values, not the handles that named them: these may be
// rebound, and own the node.
class RegionNode : public autograd::Node {
 public:
  RegionNode(const RecordedRegions& recorded, std::span<const ValueUse> inputs)
      : program_(recorded.program),
        regions_(recorded.regions),
        results_(recorded.results),
        random_state_(recorded.random_state) {
    for (const ValueUse& use : recorded.args) args_.push_back(use.id);
    for (const ValueUse& use : recorded.reads) reads_.push_back(use.id);
    for (const ValueUse& use : inputs) inputs_.push_back(use.id);
  }

 protected:
  // A new handle, without history.
  Tensor Handle(ValueId id) const { return MakeSymbolic(program_, id); }
  // A new handle of input `i` with the history that it had.
  Tensor Input(size_t i) const {
    const Tensor t = Handle(inputs_[i]);
    const Edge& edge = edges()[i];
    if (edge.node != nullptr) autograd::SetHistory(t, edge.node, edge.slot);
    return t;
  }
  // Input `i` cut off from its history, for the gradients of a region that is
  // being recorded. That the region reads the input is noted first, so that
  // its own gradients reach it.
  Tensor LeafOf(size_t i) const {
    RefTo(program_, Input(i));
    return AsLeaf(Handle(inputs_[i]));
  }

  std::vector<size_t> Wanted() const {
    std::vector<size_t> wanted;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (needs_input_grad(static_cast<int>(i))) wanted.push_back(i);
    }
    return wanted;
  }

  // The values that the regions see, as the program made them.
  Environment Outside() const {
    Environment env = MakeEnvironment(*program_);
    for (ValueId id : reads_) env[id] = Handle(id);
    return env;
  }

  TensorList Replay(size_t region, const TensorList& arguments,
                    Environment env) const {
    const StaticModeScope recording(program_);
    const WithoutChanges unchanged;
    return EvaluateRegion(*program_, *regions_[region], arguments, env);
  }

  // Gradients of `leaves` through a region whose results have the gradients
  // `grads`, undefined where there are none.
  TensorList Gradients(size_t region, const TensorList& arguments,
                       Environment env, std::span<const Tensor> grads,
                       const TensorList& leaves) const {
    const InterpreterScope scope = InterpreterScope::Allow(kDifferentiate);
    const TensorList results = Replay(region, arguments, std::move(env));
    TensorList outputs, output_grads;
    for (size_t i = 0; i < results.size(); ++i) {
      if (RequiresGrad(results[i]) && grads[i].defined()) {
        outputs.push_back(results[i]);
        output_grads.push_back(grads[i]);
      }
    }
    if (outputs.empty()) return TensorList(leaves.size());
    return autograd::Grad(outputs, leaves, output_grads, {},
                          /*allow_unused=*/true, {});
  }

  std::shared_ptr<Program> program_;
  std::vector<const Block*> regions_;  // live as long as the program
  std::vector<ValueId> args_, reads_, results_;
  std::vector<ValueId> inputs_;  // by edge
  Tensor random_state_;
};

class CondNode final : public RegionNode {
 public:
  using RegionNode::RegionNode;

  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    const std::vector<size_t> wanted = Wanted();
    const auto both = [&] {
      return Cond(
          Handle(args_[0]), [&] { return BranchGrads(0, grads, wanted); },
          [&] { return BranchGrads(1, grads, wanted); });
    };
    const TensorList out =
        random_state_.defined() ? WithRandomState(random_state_, both) : both();
    for (size_t k = 0; k < wanted.size(); ++k) input_grads[wanted[k]] = out[k];
  }
  const char* name() const override { return "cond"; }

 private:
  // Zeros where the branch does not depend on an input.
  TensorList BranchGrads(size_t branch, std::span<const Tensor> grads,
                         const std::vector<size_t>& wanted) const {
    Environment env = Outside();
    TensorList leaves;
    for (size_t i : wanted) {
      leaves.push_back(LeafOf(i));
      env[inputs_[i]] = leaves.back();
    }
    TensorList found = Gradients(branch, {}, std::move(env), grads, leaves);
    for (size_t k = 0; k < found.size(); ++k) {
      if (!found[k].defined()) found[k] = ZerosLike(leaves[k]);
    }
    return found;
  }
};

void DifferentiateCond(const RecordedRegions& recorded,
                       std::span<const Tensor> results) {
  std::vector<ValueUse> inputs;
  std::ranges::copy_if(recorded.reads, std::back_inserter(inputs),
                       &Differentiates);
  if (inputs.empty()) return;
  Hang(MakeNode<CondNode>(recorded, inputs), inputs, results);
}

// Inputs: the variables, then what the body reads from outside.
class LoopNode final : public RegionNode {
 public:
  using RegionNode::RegionNode;

  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    const size_t n = args_.size();
    // Every variable of a dtype with gradients has one on the way, whether its
    // first value needs it or not.
    std::vector<size_t> vars, reads;
    for (size_t i = 0; i < n; ++i) {
      if (IsDifferentiable(program_->value(results_[i]).meta.dtype)) {
        vars.push_back(i);
      }
    }
    for (size_t i : Wanted()) {
      if (i >= n) reads.push_back(i);
    }
    ReversedLoop loop;
    loop.condition = [&](const TensorList& v) {
      return Replay(0, v, Outside())[0];
    };
    loop.body = [&](const TensorList& v) { return Replay(1, v, Outside()); };
    loop.turn = [&](const TensorList& given) {
      return Turn(given, vars, reads);
    };
    for (size_t i = 0; i < n; ++i) loop.vars.push_back(Input(i));
    for (size_t i : vars) {
      loop.carried.push_back(
          grads[i].defined() ? grads[i] : ZerosLike(Handle(results_[i])));
    }
    for (size_t i : reads)
      loop.carried.push_back(ZerosLike(Handle(inputs_[i])));
    loop.random_state = random_state_;
    const TensorList out = ReverseLoop(loop);
    for (size_t k = 0; k < vars.size(); ++k) {
      if (needs_input_grad(static_cast<int>(vars[k]))) {
        input_grads[vars[k]] = out[k];
      }
    }
    for (size_t k = 0; k < reads.size(); ++k) {
      input_grads[reads[k]] = out[vars.size() + k];
    }
  }
  const char* name() const override { return "while"; }

 private:
  // `given`: the variables of the turn, the gradients of those after it, and
  // the sums of the gradients of the reads so far.
  TensorList Turn(const TensorList& given, const std::vector<size_t>& vars,
                  const std::vector<size_t>& reads) const {
    const size_t n = args_.size();
    TensorList arguments(given.begin(), given.begin() + n);
    TensorList leaves, grads(n);
    for (size_t k = 0; k < vars.size(); ++k) {
      leaves.push_back(AsLeaf(autograd::Detach(arguments[vars[k]])));
      arguments[vars[k]] = leaves.back();
      grads[vars[k]] = given[n + k];
    }
    Environment env = Outside();
    for (size_t i : reads) {
      leaves.push_back(LeafOf(i));
      env[inputs_[i]] = leaves.back();
    }
    TensorList found = Gradients(1, arguments, std::move(env), grads, leaves);
    for (size_t k = 0; k < found.size(); ++k) {
      if (k < vars.size()) {
        if (!found[k].defined()) found[k] = ZerosLike(leaves[k]);
      } else {
        const Tensor& sum = given[n + k];
        found[k] = found[k].defined() ? ops::add(sum, found[k]) : sum;
      }
    }
    return found;
  }
};

void DifferentiateLoop(const RecordedRegions& recorded,
                       std::span<const Tensor> results) {
  std::vector<ValueUse> inputs = recorded.args;
  std::ranges::copy_if(recorded.reads, std::back_inserter(inputs),
                       &Differentiates);
  if (std::ranges::none_of(inputs, &Differentiates)) return;
  Hang(MakeNode<LoopNode>(recorded, inputs), inputs, results);
}

// The region of `custom_gradient` is its backward already. Recorded it is
// replayed into the program, evaluated it runs on what it read at the time,
// which is kept as any node keeps its tensors: with versions, and with the
// histories that second derivatives follow.
class CustomNode final : public autograd::Node {
 public:
  CustomNode(std::shared_ptr<const Program> program, const Operation& o,
             std::shared_ptr<Program> recording)
      : program_(std::move(program)),
        region_(o.regions[0].get()),
        recording_(std::move(recording)) {
    for (ValueRef r : std::get<std::vector<ValueRef>>(o.args[0])) {
      outputs_.push_back(r.id);
    }
    for (ValueRef r : std::get<std::vector<ValueRef>>(o.args[2])) {
      seen_.push_back(r.id);
    }
  }

  // Once each, after the edges. `results`: what the node is hung on.
  void Keep(ValueId id, const Tensor& t, std::span<const Tensor> inputs,
            std::span<const Tensor> results) {
    kept_ids_.push_back(id);
    if (const auto at = std::ranges::find(outputs_, id); at != outputs_.end()) {
      // Its gradient is the node's, not that of what computed it.
      const auto k = static_cast<size_t>(at - outputs_.begin());
      kept_.emplace_back(results[k], static_cast<uint32_t>(k));
    } else if (const auto in = std::ranges::find(seen_, id);
               in != seen_.end()) {
      const auto k = static_cast<size_t>(in - seen_.begin());
      kept_.emplace_back(inputs[k], *this, static_cast<int>(k));
    } else {
      kept_.emplace_back(t);
    }
  }
  void KeepMetas(std::span<const Tensor> results) {
    for (size_t k = 0; k < results.size(); ++k) {
      metas_.push_back(
          {results[k].shape(), results[k].dtype(), results[k].place()});
      // Its sizes may be unknown.
      like_.emplace_back(
          results[k].is_symbolic()
              ? autograd::SavedTensor(results[k], static_cast<uint32_t>(k))
              : autograd::SavedTensor());
    }
  }

  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    TensorList given;
    for (size_t k = 0; k < grads.size(); ++k) {
      given.push_back(grads[k].defined() ? grads[k] : Zeros(k));
    }
    Environment env = MakeEnvironment(*program_);
    for (size_t i = 0; i < kept_.size(); ++i) {
      env[kept_ids_[i]] = kept_[i].Get(*this);
    }
    const TensorList found = Run(std::move(given), env);
    for (size_t i = 0; i < found.size(); ++i) {
      if (needs_input_grad(static_cast<int>(i))) input_grads[i] = found[i];
    }
  }
  void ReleaseSaved() override {
    for (auto& t : kept_) t.Release();
  }
  const char* name() const override { return "custom_gradient"; }

 private:
  Tensor Zeros(size_t k) {
    const Tensor like = like_[k].Get(*this);
    if (like.defined()) return ZerosLike(like);
    return ops::full(IntArray(metas_[k].shape.span()), Scalar(int64_t{0}),
                     metas_[k].dtype, metas_[k].place);
  }
  TensorList Run(TensorList grads, Environment& env) {
    if (recording_ == nullptr) {
      return EvaluateRegion(*program_, *region_, std::move(grads), env);
    }
    const StaticModeScope recording(recording_);
    const WithoutChanges unchanged;
    return EvaluateRegion(*program_, *region_, std::move(grads), env);
  }

  const std::shared_ptr<const Program> program_;
  const Block* const region_;                 // lives as long as the program
  const std::shared_ptr<Program> recording_;  // null: nothing is recorded
  std::vector<ValueId> outputs_, seen_, kept_ids_;
  std::vector<autograd::SavedTensor> kept_, like_;
  std::vector<TensorMeta> metas_;
};

// `reads`: of the region, each once, outputs and inputs too if it reads them.
void HangCustom(const IntrusivePtr<CustomNode>& node,
                std::span<const Tensor> inputs, std::span<const ValueUse> reads,
                std::span<const Tensor> results) {
  for (const Tensor& t : inputs) node->AddEdge(GradEdge(t));
  node->set_num_outputs(static_cast<int>(results.size()));
  for (const ValueUse& use : reads) {
    node->Keep(use.id, use.tensor, inputs, results);
  }
  node->KeepMetas(results);
  for (size_t i = 0; i < results.size(); ++i) {
    autograd::SetHistory(results[i], node, static_cast<uint32_t>(i));
  }
}

void DifferentiateCustom(const RecordedRegions& recorded,
                         std::span<const Tensor> results) {
  const size_t n = (recorded.args.size() - results.size()) / 2;
  TensorList inputs;
  for (size_t i = 0; i < n; ++i) {
    inputs.push_back(recorded.args[results.size() + i].tensor);
  }
  if (std::ranges::none_of(inputs, &RequiresGrad)) return;
  const Operation& o = CurrentBlock(*recorded.program).operations.back();
  HangCustom(MakeNode<CustomNode>(recorded.program, o, recorded.program),
             inputs, recorded.reads, results);
}

void HangCustomNow(const Program& program, const Operation& o,
                   const Environment& env, const TensorList& inputs,
                   const TensorList& results) {
  if (std::ranges::none_of(inputs, &RequiresGrad)) return;
  std::vector<ValueUse> reads;
  const Block& region = *o.regions[0];
  // Once each; not what the region makes.
  std::unordered_set<ValueId> seen(region.arguments.begin(),
                                   region.arguments.end());
  for (const Operation& inner : region.operations) {
    ForEachResult(inner, [&](ValueId id) { seen.insert(id); });
  }
  const auto see = [&](ValueId id) {
    if (!env[id].defined() || !seen.insert(id).second) return;
    // Captured values are in every environment.
    if (program.value(id).kind == ValueKind::kCaptured) return;
    reads.push_back({id, env[id]});
  };
  for (const Operation& inner : region.operations) ForEachUse(inner, see);
  for (const ValueId id : region.returns) see(id);
  HangCustom(MakeNode<CustomNode>(program.shared_from_this(), o, nullptr),
             inputs, reads, results);
}

class RefusingNode final : public autograd::Node {
 public:
  void Backward(std::span<const Tensor>, std::span<Tensor>) override {
    Fail(absl::StatusCode::kUnimplemented,
         "a recorded while_loop, a cond that draws random numbers, and a call "
         "with a number that is a value of the program have no second "
         "derivative; unroll it, give the number, or run it in eager mode");
  }
  const char* name() const override { return "backward of while or cond"; }
};

void Refuse(const RecordedRegions& recorded, std::span<const Tensor> results) {
  std::vector<ValueUse> inputs;
  for (const auto* uses : {&recorded.args, &recorded.reads}) {
    std::ranges::copy_if(*uses, std::back_inserter(inputs), &Differentiates);
  }
  if (!inputs.empty()) Hang(MakeNode<RefusingNode>(), inputs, results);
}

// That of a variable of a loop in its body, which is no leaf: it may be changed
// in place. A gradient that arrives belongs to nobody.
class ArgumentNode final : public autograd::Node {
 public:
  ArgumentNode() { set_num_outputs(1); }
  void Backward(std::span<const Tensor>, std::span<Tensor>) override {}
  const char* name() const override { return "region_argument"; }
};

void GiveHistory(const Tensor& t) {
  autograd::SetHistory(t, MakeNode<ArgumentNode>(), 0);
}

const bool installed = [] {
  control_flow_grad = {&DifferentiateCond,   &DifferentiateLoop,
                       &DifferentiateCustom, &HangCustomNow,
                       &GiveHistory,         &Refuse};
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::jit
