// Weights of convolutions with their taps turned round, straight into the
// blocks that oneDNN asks for.
#ifndef PROA_OPS_ONEDNN_FLIP_PACK_H_
#define PROA_OPS_ONEDNN_FLIP_PACK_H_

#include <cstdint>

#include "oneapi/dnnl/dnnl.hpp"

namespace proa::inline v0::onednn {

// What a reorder of `from` to `to` would write if of the source each `flip`
// elements, those of the last dims, were turned round first: the same bits in
// one pass in place of two. False, and nothing is written, unless `from` is
// plain, two dims of channels (before them groups, or not) and taps one behind
// the other, and `to`, of the same type of 2 or 4 bytes, blocks one or both of
// these two dims and no others. Channels of groups of one may be the groups.
bool FlipAndPack(const dnnl::memory::desc& from, const void* source,
                 int64_t flip, const dnnl::memory::desc& to, void* target);

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_FLIP_PACK_H_
