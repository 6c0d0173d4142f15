// Weights of convolutions in blocks of their outputs, as oneDNN's newer kernels
// want them. Where weights change with each step they are packed anew, and a
// reorder of oneDNN's takes as long as a convolution of one image.
#ifndef PROA_OPS_ONEDNN_BLOCK_PACK_H_
#define PROA_OPS_ONEDNN_BLOCK_PACK_H_

#include <cstdint>

#include "oneapi/dnnl/dnnl.hpp"

namespace proa::inline v0::onednn {

// What a reorder of `from` to `to` would write, if of the source each `flip`
// elements, those of all dims but the first two, were turned round first.
// False, and nothing is written, unless both are of float32 without groups,
// `from` is plain, with its taps one behind the other and the first two dims in
// either order, and `to` has blocks of the first dim and of no other.
bool PackInBlocks(const dnnl::memory::desc& from, const void* source,
                  int64_t flip, const dnnl::memory::desc& to, void* target);

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_BLOCK_PACK_H_
