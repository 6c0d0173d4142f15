#include "autograd/function.h"

#include <algorithm>
#include <utility>

#include "autograd/grad_ops.h"
#include "autograd/grad_state.h"
#include "autograd/inplace.h"
#include "tensor/error.h"

namespace proa::inline v0::autograd {
namespace {

bool Contains(std::span<const Tensor> tensors, const Tensor& t) {
  return std::ranges::any_of(tensors,
                             [&](const Tensor& o) { return o.is_same(t); });
}

// Another handle on the elements of `t`, which the rules of views protect.
Tensor ViewOf(const Tensor& t) {
  Tensor view = Detach(t);
  view.impl()->is_view = true;
  return view;
}

}  // namespace

internal::Snapshot::Snapshot(const Tensor& t) : tensor(t) {
  if (!t.defined()) return;
  storage = t.storage().get();
  symbol = t.impl()->symbol.get();
  version = t.version();
}

bool internal::Snapshot::Changed() const {
  return tensor.defined() &&
         (tensor.version() != version || tensor.storage().get() != storage ||
          tensor.impl()->symbol.get() != symbol);
}

// --- FunctionContext

void FunctionContext::SaveForBackward(std::vector<Tensor> tensors) {
  saved_.clear();
  kept_.clear();
  for (const Tensor& t : tensors) {
    saved_.emplace_back(t);
    kept_.emplace_back(t);
  }
  num_saved_ = tensors.size();
}

void FunctionContext::MarkNonDifferentiable(const Tensor& output) {
  non_differentiable_.push_back(output);
}

void FunctionContext::MarkNotInplace(const Tensor& input) {
  not_inplace_.push_back(input);
}

std::vector<Tensor> FunctionContext::Saved() const {
  std::vector<Tensor> out;
  if (node_ == nullptr) {
    if (kept_.size() != num_saved_) {
      Fail(absl::StatusCode::kFailedPrecondition,
           "saved tensors: the graph that this context belongs to is gone, and "
           "what was saved went with it");
    }
    for (const internal::Snapshot& k : kept_) out.push_back(k.tensor);
    return out;
  }
  out.reserve(saved_.size());
  for (const SavedTensor& s : saved_) out.push_back(s.Get(*node_));
  return out;
}

bool FunctionContext::needs_input_grad(int i) const {
  PROA_REQUIRE(i >= 0 && i < num_inputs(),
               "needs_input_grad: there is no input ", i, "; there are ",
               num_inputs());
  return node_ != nullptr && node_->needs_input_grad(i);
}

int FunctionContext::num_inputs() const {
  return node_ == nullptr ? 0 : static_cast<int>(node_->edges().size());
}

// An output is kept without the history that leads to the node; unless it was
// changed after it was saved, which Get must find.
void FunctionContext::Finish(FunctionNode* node,
                             std::span<const Tensor> outputs) {
  non_differentiable_.clear();
  not_inplace_.clear();
  node_ = node;
  if (node == nullptr) {
    saved_.clear();
    return;
  }
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].tensor.defined() || kept_[i].Changed()) continue;
    const auto output = std::ranges::find_if(
        outputs, [&](const Tensor& o) { return o.is_same(kept_[i].tensor); });
    if (output == outputs.end()) continue;
    saved_[i] =
        SavedTensor(*output, static_cast<uint32_t>(output - outputs.begin()));
  }
  kept_.clear();
}

// --- FunctionNode

FunctionNode::Meta::Meta(const Tensor& t) {
  if (!t.defined()) return;
  shape = t.shape();
  dtype = t.dtype();
  place = t.place();
  if (t.is_symbolic()) symbolic = Detach(t);
}

Tensor FunctionNode::Zeros(const Meta& meta) const {
  // The tensor to be like needs no elements of its own; none are kept for it.
  return InstalledGradOps().zeros_like(
      meta.symbolic.defined()
          ? meta.symbolic
          : Tensor::Empty(meta.shape, meta.dtype, meta.place));
}

void FunctionNode::Backward(std::span<const Tensor> grads,
                            std::span<Tensor> input_grads) {
  std::vector<Tensor> given(grads.begin(), grads.end());
  if (context().materialize_) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].defined()) given[i] = Zeros(outputs_[i]);
    }
  }
  std::vector<Tensor> found = Formula(given);
  PROA_REQUIRE(found.size() == inputs_.size(), name(), ": backward returned ",
               found.size(), " gradients for ", inputs_.size(),
               " tensors that forward was given");
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined() || !needs_input_grad(static_cast<int>(i))) continue;
    Check(i, found[i]);
    input_grads[i] = std::move(found[i]);
  }
}

void FunctionNode::Check(size_t i, const Tensor& grad) const {
  const Meta& meta = inputs_[i];
  if (ShapesFit(grad.shape(), meta.shape) && grad.dtype() == meta.dtype &&
      grad.place() == meta.place) {
    return;
  }
  FailArgument(
      name(), ": gradient ", i,
      " that backward returned does not fit its input; the gradient is ",
      Describe(grad), ", the input was ",
      Describe(Tensor::Symbolic(meta.shape, meta.dtype, meta.place)));
}

void FunctionNode::ReleaseSaved() {
  for (SavedTensor& s : context().saved_) s.Release();
}

void FunctionNode::VisitSaved(const SavedVisitor& visit) const {
  // context() is for those that change it too; this only looks.
  for (const SavedTensor& s :
       const_cast<FunctionNode*>(this)->context().saved_) {
    visit("saved", s);
  }
}

void FunctionNode::Disconnect(FunctionContext& context) {
  if (context.node_ != this) return;
  context.node_ = nullptr;
  context.saved_.clear();
}

// --- FunctionCall

FunctionCall::FunctionCall(IntrusivePtr<FunctionNode> node)
    : node_(std::move(node)), context_(node_->context()) {
  context_.node_ = node_.get();
}

void FunctionCall::AddInput(const Tensor& t) {
  const bool needed = t.defined() && RequiresGrad(t) && GradEnabled();
  records_ |= needed;
  node_->AddEdge(needed ? GradEdge(t) : Edge{});
  node_->inputs_.emplace_back(t);
  inputs_.emplace_back(t);
}

Tensor FunctionCall::Result(const Tensor& output,
                            std::span<const Tensor> earlier) {
  for (Input& input : inputs_) {
    if (!input.tensor.is_same(output)) continue;
    if (input.returned || !input.Changed() ||
        Contains(context_.not_inplace_, output)) {
      return ViewOf(output);
    }
    if (records_) CheckInplace(node_->name(), output);
    input.returned = true;
    return output;
  }
  if (RequiresGrad(output) || Contains(earlier, output)) return ViewOf(output);
  return output;
}

void FunctionCall::CheckChangedInputs() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.returned || !input.tensor.defined() ||
        !RequiresGrad(input.tensor) || !input.Changed()) {
      continue;
    }
    Fail(absl::StatusCode::kFailedPrecondition, node_->name(),
         ": forward changed input ", i,
         " in place, which requires grad, but does not return it as changed; "
         "it is ",
         Describe(input.tensor));
  }
}

bool FunctionCall::Finish(std::span<Tensor> outputs) {
  const std::vector<Tensor> non_differentiable =
      std::move(context_.non_differentiable_);
  const std::vector<Tensor> made(outputs.begin(), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].defined()) outputs[i] = Result(made[i], {made.data(), i});
  }
  if (records_) CheckChangedInputs();
  records_ = records_ && !outputs.empty();
  context_.Finish(records_ ? node_.get() : nullptr, outputs);
  if (!records_) return false;

  node_->set_num_outputs(static_cast<int>(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    node_->outputs_.emplace_back(outputs[i]);
    if (!outputs[i].defined()) continue;
    if (Contains(non_differentiable, made[i])) {
      SetRequiresGrad(outputs[i], false);
    } else if (std::ranges::any_of(inputs_, [&](const Input& input) {
                 return input.tensor.is_same(outputs[i]);
               })) {
      SetInplaceHistory(outputs[i], node_, static_cast<uint32_t>(i));
    } else {
      SetHistory(outputs[i], node_, static_cast<uint32_t>(i));
    }
  }
  return true;
}

}  // namespace proa::inline v0::autograd
