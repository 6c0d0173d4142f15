// Recompute: a function whose intermediate tensors are not kept for backward;
// backward runs the function again instead. Trades time for memory.
//
//   std::vector<Tensor> y = autograd::Recompute(
//       [&](std::span<const Tensor> in) {
//         return std::vector{Layer(in[0], weight)};
//       },
//       {&x, 1});
//
// The whole call is one node of the graph. It leads to the inputs and to
// whatever else the function used that requires grad (parameters), so that
// gradients, hooks and `Grad` are as they would be without it; a higher order
// works too, but then what the second run made is kept.
#ifndef PROA_AUTOGRAD_RECOMPUTE_H_
#define PROA_AUTOGRAD_RECOMPUTE_H_

#include <functional>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// Runs on other handles than the caller's, on the same elements. Must do the
// same each time it is called (random numbers are its own affair) and work on
// the calling thread; must change no input in place.
using RecomputedFunction =
    std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

// The results of `function`; called now and in each backward over them. What
// autocast does now, it does then. Throws Error kFailedPrecondition if the
// function changed an input; in backward also if an input was changed since,
// and kInvalidArgument if the results are not like those of the first time.
std::vector<Tensor> Recompute(RecomputedFunction function,
                              std::span<const Tensor> inputs);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_RECOMPUTE_H_
