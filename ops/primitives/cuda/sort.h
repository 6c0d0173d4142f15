// Sorting pairs of a key and a value on a GPU, stably, by radix.
#ifndef PROA_OPS_PRIMITIVES_CUDA_SORT_H_
#define PROA_OPS_PRIMITIVES_CUDA_SORT_H_

#include <cstdint>

#include "ops/kernel.h"

namespace proa::inline v0::ops::cuda {

// Two buffers for each of keys and values, of which the first ones are sorted:
// after the call `keys` and `values` are where the result is, either of the
// two.
template <class Key>
struct PairBuffers {
  Key* keys;
  Key* other_keys;
  int32_t* values;
  int32_t* other_values;
};

// By the lowest `bits` bits of the keys; the others must be equal. `count` is
// below 2^31.
void SortPairs(const KernelContext& ctx, int64_t count, int bits,
               PairBuffers<uint32_t>* pairs);
void SortPairs(const KernelContext& ctx, int64_t count, int bits,
               PairBuffers<uint64_t>* pairs);

// `lines` lines of n pairs, n > 0, each by itself; lines * n is below 2^31.
void SortLines(const KernelContext& ctx, int64_t lines, int64_t n,
               PairBuffers<uint32_t>* pairs);
void SortLines(const KernelContext& ctx, int64_t lines, int64_t n,
               PairBuffers<uint64_t>* pairs);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_SORT_H_
