// Control flow that depends on values, in eager and recorded code alike.
//
//   auto out = Cond(x_is_positive, [&] { return TensorList{x}; },
//                                  [&] { return TensorList{ops::neg(x)}; });
#ifndef PROA_JIT_CONTROL_FLOW_H_
#define PROA_JIT_CONTROL_FLOW_H_

#include <functional>
#include <memory>
#include <vector>

#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

using TensorList = std::vector<Tensor>;

// A concrete predicate (one bool element) simply calls one of the functions.
// With a symbolic one both are recorded into regions; their results must agree
// in number, dtype and rank (dims that differ become unknown). Differentiable
// where
// //jit:control_flow_grad is linked.
TensorList Cond(const Tensor& predicate,
                const std::function<TensorList()>& then,
                const std::function<TensorList()>& otherwise);

// Repeats `vars = body(vars)` while condition(vars) holds. Recorded as a region
// if a variable or the first condition is symbolic: then the body must keep
// number, dtype and rank of the variables; dims that it changes are unknown. A
// recorded loop has no gradient: asking for one is an error.
TensorList WhileLoop(const std::function<Tensor(const TensorList&)>& condition,
                     const std::function<TensorList(const TensorList&)>& body,
                     const TensorList& vars);

// What autograd needs of a recorded control-flow operation: called with the
// tensors that it reads and makes. Installed by //jit:control_flow_grad.
struct RecordedCond {
  std::shared_ptr<Program> program;
  const Block* then = nullptr;  // live as long as the program
  const Block* otherwise = nullptr;
  Tensor predicate;
  std::vector<Tensor> reads;  // from outside, without repetitions
};
using DifferentiateCond = void (*)(const RecordedCond& cond,
                                   std::span<const Tensor> results);
using DifferentiateLoop = void (*)(std::span<const Tensor> reads,
                                   std::span<const Tensor> results);
void InstallControlFlowGrad(DifferentiateCond cond, DifferentiateLoop loop);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_CONTROL_FLOW_H_
