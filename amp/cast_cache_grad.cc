// Histories of casts whose elements were kept (cast_cache.h).
#include <span>
#include <vector>

#include "amp/cast_cache.h"
#include "autograd/function.h"
#include "autograd/grad_state.h"
#include "autograd/sum_so_far.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::amp {
namespace {

// A cast whose elements are there already.
struct KeptCast : autograd::CustomFunction<KeptCast> {
  static constexpr const char* kName = "cast";
  DType source = DType::kFloat32;

  Tensor Forward(autograd::FunctionContext&, const Tensor& t,
                 const Tensor& value) {
    source = t.dtype();
    return value;
  }
  std::vector<Tensor> Backward(autograd::FunctionContext&,
                               std::span<const Tensor> grads) {
    // Of several uses, and beside what read `t` itself, the gradient is added
    // to those that came before while it is read: no copy of it is made.
    Tensor sum = autograd::TakeSumSoFar(0);
    if (!sum.defined()) return {ops::cast(grads[0], source), Tensor()};
    if (sum.layout() == Layout::kStrided && sum.shape() == grads[0].shape()) {
      ops::add_(sum, grads[0]);
    } else {
      sum = ops::add(sum, grads[0]);
    }
    return {sum, Tensor()};
  }
};

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
                      .record = [](const Tensor& t, const Tensor& value) {
                        return KeptCast::Apply(t, value);
                      }});
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::amp
