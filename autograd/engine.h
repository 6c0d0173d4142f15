// The reverse-mode engine: runs nodes in dependency order and accumulates into
// leaves. It knows no op; the few tensor operations it needs (addition, ones)
// are installed by autograd:ops, or by a host that brings its own (grad_ops.h).
//
// A pass runs on the calling thread. Passes may run on several threads at a
// time, over disjoint or shared graphs (the latter with retain_graph), and
// within one another (a node or hook that itself calls Backward). A node or
// hook that throws ends the pass; gradients accumulated until then stay, and
// the graph can be used again.
//
// Formulas and hooks run with grad enabled if create_graph, else forbidden;
// never with autocast, since the graph was recorded with the casts in it.
#ifndef PROA_AUTOGRAD_ENGINE_H_
#define PROA_AUTOGRAD_ENGINE_H_

#include <span>
#include <vector>

#include "autograd/grad_ops.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};

// Accumulates d(sum of outputs * grads)/d(leaf) into each leaf's gradient. An
// undefined (or missing) grad means ones, allowed for any shape as in Paddle.
// Throws Error kInvalidArgument for an output that does not require grad, for a
// grad of another shape, dtype or place than its output, and for a complex
// output without grad: derivatives are those of real losses. (The gradient of a
// complex x = a + bi is dL/da + i dL/db, the direction in which L grows.)
void Backward(std::span<const Tensor> outputs, std::span<const Tensor> grads,
              const BackwardOptions& options);

// Gradients of `inputs` (leaves or not), accumulating nowhere. Where an input
// does not take part: an undefined tensor if allow_unused, else Error
// kInvalidArgument. `no_grad_vars`: gradients do not flow through these.
std::vector<Tensor> Grad(std::span<const Tensor> outputs,
                         std::span<const Tensor> inputs,
                         std::span<const Tensor> grads,
                         const BackwardOptions& options, bool allow_unused,
                         std::span<const Tensor> no_grad_vars);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_ENGINE_H_
