#include <cub/device/device_radix_sort.cuh>

#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/sort.h"

namespace proa::inline v0::ops::cuda {
namespace {

template <class Key>
void Sort(const KernelContext& ctx, int64_t count, int bits,
          PairBuffers<Key>* pairs) {
  if (count <= 1 || bits == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  cub::DoubleBuffer<Key> keys(pairs->keys, pairs->other_keys);
  cub::DoubleBuffer<int32_t> values(pairs->values, pairs->other_values);
  const int n = static_cast<int>(count);
  size_t bytes = 0;
  CheckCuda(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, n, 0,
                                            bits, stream),
            "DeviceRadixSort");
  const Workspace scratch(ctx, static_cast<int64_t>(bytes));
  CheckCuda(cub::DeviceRadixSort::SortPairs(scratch.data(), bytes, keys, values,
                                            n, 0, bits, stream),
            "DeviceRadixSort");
  *pairs = {keys.Current(), keys.Alternate(), values.Current(),
            values.Alternate()};
}

}  // namespace

void SortPairs(const KernelContext& ctx, int64_t count, int bits,
               PairBuffers<uint32_t>* pairs) {
  Sort(ctx, count, bits, pairs);
}
void SortPairs(const KernelContext& ctx, int64_t count, int bits,
               PairBuffers<uint64_t>* pairs) {
  Sort(ctx, count, bits, pairs);
}

}  // namespace proa::inline v0::ops::cuda
