// PyLayers in programs: forward is recorded as it runs, on inputs cut off from
// their history, and `custom_gradient` holds what backward does with the
// gradients of its results.
#include <memory>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "jit/control_flow.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "python/core/error.h"
#include "python/core/nested.h"
#include "python/core/py_layer.h"
#include "tensor/dtype.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {
namespace {

using Tensors = std::vector<Tensor>;

std::shared_ptr<jit::Program> ProgramOf(const Tensors& tensors) {
  for (const Tensor& t : tensors) {
    if (t.defined() && t.is_symbolic()) return jit::SymbolOf(t).program();
  }
  return nullptr;
}

Ref Record(PyObject* layer, PyObject* args, PyObject* kwargs,
           const Tensors& given) {
  const std::shared_ptr<jit::Program> program = ProgramOf(given);
  // Regions are recorded without gradients; those of the layer are its own.
  if (!GradEnabled() && !jit::IsInRegion(*program)) {
    return ApplyPyLayer(layer, args, kwargs);
  }
  const InterpreterScope grad = InterpreterScope::Allow(kDifferentiate);
  Tensors cut = given, inputs, leaves;
  for (Tensor& t : cut) {
    if (!t.defined() || !IsDifferentiable(t.dtype())) continue;
    inputs.push_back(t);
    const Tensor plain = jit::MakeSymbolic(program, jit::RefTo(program, t).id);
    t = jit::MakeSymbolic(program, jit::RefTo(program, plain).id);
    autograd::SetRequiresGrad(t, true);
    leaves.push_back(t);
  }
  const Tensor* next = cut.data();
  const Ref cut_args = ReplaceTensors(args, next);
  const Ref cut_kwargs =
      kwargs != nullptr ? ReplaceTensors(kwargs, next) : Ref();
  const Ref result = ApplyPyLayer(layer, cut_args.get(), cut_kwargs.get());

  Tensors results, made, plain;
  TakeTensors(result.get(), results);
  for (const Tensor& t : results) {
    if (!t.defined() || !t.is_symbolic() || !autograd::RequiresGrad(t)) {
      continue;
    }
    made.push_back(t);
    plain.push_back(jit::MakeSymbolic(program, jit::SymbolOf(t).id()));
  }
  if (made.empty()) return result;
  const Tensors returned =
      jit::CustomGradient(plain, inputs, leaves, [&](const Tensors& grads) {
        return autograd::Grad(made, leaves, grads, {}, /*allow_unused=*/true,
                              {});
      });
  size_t at = 0;
  for (Tensor& t : results) {
    if (at < made.size() && t.is_same(made[at])) t = returned[at++];
  }
  next = results.data();
  return ReplaceTensors(result.get(), next);
}

const bool installed = [] {
  InstallPyLayerRecorder(&Record);
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::python
