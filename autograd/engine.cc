#include "autograd/engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "autograd/engine_run.h"
#include "autograd/grad_state.h"
#include "profiler/events.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::autograd {
namespace {

bool Fits(const Tensor& grad, const Tensor& output) {
  return ShapesFit(grad.shape(), output.shape()) &&
         grad.dtype() == output.dtype() && grad.place() == output.place();
}

void CheckOutput(const char* op, size_t i, const Tensor& output) {
  PROA_REQUIRE(output.defined(), op, ": outputs[", i, "] is None");
  PROA_REQUIRE(
      RequiresGrad(output), op, ": outputs[", i,
      "] does not require grad, nothing leads from it to a leaf; it is ",
      Describe(output),
      "; set stop_gradient = False on what it is computed from");
}

void AddRoots(const char* op, std::span<const Tensor> outputs,
              std::span<const Tensor> grads, EngineRun& run) {
  PROA_REQUIRE(!outputs.empty(), op, ": outputs is empty");
  PROA_REQUIRE(grads.empty() || grads.size() == outputs.size(), op, ": ",
               grads.size(), " grads for ", outputs.size(), " outputs");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    CheckOutput(op, i, output);
    Tensor grad = grads.empty() ? Tensor() : grads[i];
    if (!grad.defined()) {
      PROA_REQUIRE(!IsComplex(output.dtype()), op, ": outputs[", i,
                   "] is complex, and has no gradient by itself; it is ",
                   Describe(output),
                   "; make a real loss of it (abs, real), or pass the gradient "
                   "to start with");
      grad = InstalledGradOps().ones_like(output);
    } else if (!Fits(grad, output)) {
      FailArgument(op, ": grads[", i, "] does not fit outputs[", i, "]; grads[",
                   i, "] is ", Describe(grad), ", outputs[", i, "] is ",
                   Describe(output));
    }
    run.AddRoot(GradEdge(output), std::move(grad));
  }
}

}  // namespace

void Backward(std::span<const Tensor> outputs, std::span<const Tensor> grads,
              const BackwardOptions& options) {
  const profiler::Range range("backward", "pass");
  PassScope scope(options.create_graph);
  EngineRun run(options, /*capture_only=*/false);
  AddRoots("backward", outputs, grads, run);
  run.Execute();
}

std::vector<Tensor> Grad(std::span<const Tensor> outputs,
                         std::span<const Tensor> inputs,
                         std::span<const Tensor> grads,
                         const BackwardOptions& options, bool allow_unused,
                         std::span<const Tensor> no_grad_vars) {
  std::vector<Tensor> results(inputs.size());
  {
    const profiler::Range range("grad", "pass");
    PassScope scope(options.create_graph);
    EngineRun run(options, /*capture_only=*/true);
    AddRoots("grad", outputs, grads, run);
    for (size_t i = 0; i < inputs.size(); ++i) {
      PROA_REQUIRE(inputs[i].defined(), "grad: inputs[", i, "] is None");
      Edge edge = GradEdge(inputs[i]);
      if (edge.node) run.Capture(std::move(edge), &results[i]);
    }
    for (const Tensor& var : no_grad_vars) {
      if (Edge edge = GradEdge(var); edge.node) run.Block(std::move(edge));
    }
    run.Execute();
  }
  for (size_t i = 0; i < inputs.size() && !allow_unused; ++i) {
    PROA_REQUIRE(results[i].defined(), "grad: inputs[", i, "] ",
                 RequiresGrad(inputs[i]) ? "takes no part in the outputs"
                                         : "does not require grad",
                 "; it is ", Describe(inputs[i]),
                 "; pass allow_unused=True to get None for it");
  }
  return results;
}

}  // namespace proa::inline v0::autograd
