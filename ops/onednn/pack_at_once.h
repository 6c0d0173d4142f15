// Weights of which it is known that they predict: packed_weights.h keeps what
// it makes of them from the first call on, as of weights that lie in a file.
#ifndef PROA_OPS_ONEDNN_PACK_AT_ONCE_H_
#define PROA_OPS_ONEDNN_PACK_AT_ONCE_H_

#include "tensor/tensor.h"

namespace proa::inline v0::onednn {

// Says so of a weight, as long as somebody holds its storage. One that changes
// all the same is packed again, and kept from the second call on. Thread-safe.
void PackAtOnce(const Tensor& weight);

// Lets go of what is kept of weights that nobody else holds, which otherwise is
// done now and then. Thread-safe.
void DropUnusedWeights();

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_PACK_AT_ONCE_H_
