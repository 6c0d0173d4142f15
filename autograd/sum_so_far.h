// For formulas that can add their gradient to others while they make it.
#ifndef PROA_AUTOGRAD_SUM_SO_FAR_H_
#define PROA_AUTOGRAD_SUM_SO_FAR_H_

#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// Within Backward of a node that the engine runs: takes what other nodes have
// sent so far to input `i`, for the caller to change in place and to return,
// with its own gradient added, as the gradient of that input. Undefined if
// nothing has come, if others see it or will (hooks on the node, create_graph,
// anomaly mode), or if it is symbolic: then the gradient alone is returned, as
// usual. A result must be returned: it is in nobody else's hands.
Tensor TakeSumSoFar(int i);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_SUM_SO_FAR_H_
