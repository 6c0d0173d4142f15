// Control flow that depends on values, in eager and recorded code alike.
//
//   auto out = Cond(x_is_positive, [&] { return TensorList{x}; },
//                                  [&] { return TensorList{ops::neg(x)}; });
//
// Recorded, these are the region ops `cond`, `while`, `reverse_loop` and
// `custom_gradient`, a source each (region_op.h says what that is).
#ifndef PROA_JIT_CONTROL_FLOW_H_
#define PROA_JIT_CONTROL_FLOW_H_

#include <functional>

#include "jit/region_op.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// A concrete predicate (one bool element) simply calls one of the functions.
// With a symbolic one both are recorded into regions; their results must agree
// in number, dtype and rank (dims that differ become unknown). Differentiable
// where //jit:region_grad is linked.
TensorList Cond(const Tensor& predicate,
                const std::function<TensorList()>& then,
                const std::function<TensorList()>& otherwise);

// Repeats `vars = body(vars)` while condition(vars) holds. Recorded as a region
// if a variable or the first condition is symbolic: then the body must keep
// number, dtype and rank of the variables; dims that it changes are unknown.
// Differentiable likewise. The variables of a turn are the body's to keep.
TensorList WhileLoop(const std::function<Tensor(const TensorList&)>& condition,
                     const std::function<TensorList(TensorList)>& body,
                     TensorList vars);

// A loop, and its turns again in reverse:
//
//   for (n = 0; condition(vars); ++n) { seen[n] = vars; vars = body(vars); }
//   while (n-- > 0) carried = turn(seen[n] and carried, in one list);
//
// gives `carried`; what gradients of loops need. Random numbers are drawn from
// `random_state` on if it is defined, in `turn` as in the same turn of `body`.
struct ReversedLoop {
  std::function<Tensor(const TensorList&)> condition;
  std::function<TensorList(const TensorList&)> body;
  std::function<TensorList(const TensorList&)> turn;
  TensorList vars;
  TensorList carried;
  Tensor random_state;
};
TensorList ReverseLoop(const ReversedLoop& loop);

// `outputs` as they are, to whoever computes; their gradients go to `inputs`,
// as `backward` makes them: given one for each output it gives one for each
// input, undefined for zeros. `seen` are the inputs as the outputs were made of
// them, cut off from their history or not: what backward reads of these, second
// derivatives take for the inputs. All are of dtypes with gradients, and one of
// the outputs is symbolic: what a function that runs at once needs is
// autograd/function.h.
TensorList CustomGradient(
    const TensorList& outputs, const TensorList& inputs, const TensorList& seen,
    const std::function<TensorList(const TensorList&)>& backward);

// How autograd treats each of them; null until //jit:region_grad installs it.
struct ControlFlowGrad {
  DifferentiateRegions cond = nullptr;
  DifferentiateRegions loop = nullptr;
  DifferentiateRegions custom = nullptr;
  // Of a `custom_gradient` that is evaluated: `results` are new handles on its
  // outputs, `inputs` what gets the gradients. `env` has what its region reads.
  void (*custom_now)(const Program& program, const Operation& o,
                     const Environment& env, const TensorList& inputs,
                     const TensorList& results) = nullptr;
  // Gives `t`, an argument of a region that follows gradients, a history.
  void (*argument)(const Tensor& t) = nullptr;
  // Of what has none: says so when it is asked for.
  DifferentiateRegions none = nullptr;
};
extern constinit ControlFlowGrad control_flow_grad;

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_CONTROL_FLOW_H_
