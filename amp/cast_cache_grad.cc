// Histories of casts whose elements were kept (cast_cache.h).
#include <span>
#include <string>
#include <utility>

#include "amp/cast_cache.h"
#include "autograd/grad_dtype.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/sum_so_far.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "tensor/dtype.h"
#include "tensor/intrusive_ptr.h"
#include "tensor/tensor.h"

namespace proa::inline v0::amp {
namespace {

// A cast whose elements are there already.
class KeptCastNode final : public autograd::Node,
                           public autograd::TakesWiderGrads {
 public:
  explicit KeptCastNode(DType source) : source_(source) {}

  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    if (!needs_input_grad(0)) return;
    const Tensor& grad = grads[0];
    // Of several uses, and beside what read the input itself, the gradient is
    // added to those that came before while it is read: no copy of it is made.
    // A wider one, of a 16-bit input that was kept in float32, is cast.
    Tensor sum = autograd::TakeSumSoFar(0);
    const bool fits =
        sum.defined() && ItemSize(source_) > ItemSize(grad.dtype());
    const Tensor own =
        grad.dtype() == source_ || fits ? grad : ops::cast(grad, source_);
    if (!sum.defined()) {
      sum = own;
    } else if (sum.layout() == Layout::kStrided &&
               sum.shape() == grad.shape()) {
      ops::add_(sum, own);
    } else {
      sum = ops::add(sum, own);
    }
    input_grads[0] = std::move(sum);
  }
  const char* name() const override { return "cast"; }
  std::string InputName(int) const override { return "x"; }
  DType source_dtype() const override { return source_; }

 private:
  const DType source_;
};

Tensor Record(const Tensor& t, const Tensor& value) {
  IntrusivePtr<KeptCastNode> node = autograd::MakeNode<KeptCastNode>(t.dtype());
  node->AddEdge(autograd::GradEdge(t));
  autograd::SetHistory(value, std::move(node), 0);
  return value;
}

// A frozen parameter still has what its gradients were added by.
bool IsParameter(const Tensor& t) {
  if (autograd::RequiresGrad(t)) return autograd::IsLeaf(t);
  const auto* state = autograd::GradState::Of(t);
  return state != nullptr && state->producer.node && state->is_leaf();
}

bool IsResult(const Tensor& t) {
  return autograd::RequiresGrad(t) && !autograd::IsLeaf(t);
}

const bool is_installed = [] {
  InstallCastHistory({.is_parameter = &IsParameter,
                      .is_result = &IsResult,
                      .record = &Record});
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::amp
