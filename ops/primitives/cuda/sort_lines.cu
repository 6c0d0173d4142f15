#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_segmented_sort.cuh>

#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/sort.h"

namespace proa::inline v0::ops::cuda {
namespace {

struct LineStart {
  int64_t n;
  __host__ __device__ int64_t operator()(int64_t line) const {
    return line * n;
  }
};

// Long lines keep the whole GPU busy one by one; of short ones there must be
// many.
bool OneByOne(int64_t lines, int64_t n) {
  return lines == 1 || (n >= (1 << 18) && lines <= 32);
}

template <class Key>
void Sort(const KernelContext& ctx, int64_t lines, int64_t n,
          PairBuffers<Key>* pairs) {
  if (lines == 0 || n <= 1) return;
  const cudaStream_t stream = StreamOf(ctx);
  cub::DoubleBuffer<Key> keys(pairs->keys, pairs->other_keys);
  cub::DoubleBuffer<int32_t> values(pairs->values, pairs->other_values);
  const auto starts = thrust::make_transform_iterator(
      thrust::make_counting_iterator(int64_t{0}), LineStart{n});
  size_t bytes = 0;
  const auto run = [&](void* scratch) {
    CheckCuda(cub::DeviceSegmentedSort::StableSortPairs(
                  scratch, bytes, keys, values, lines * n, lines, starts,
                  starts + 1, stream),
              "DeviceSegmentedSort");
  };
  run(nullptr);
  const Workspace scratch(ctx, static_cast<int64_t>(bytes));
  run(scratch.data());
  *pairs = {keys.Current(), keys.Alternate(), values.Current(),
            values.Alternate()};
}

// Each line by a sort of its own; all end in the same of the two buffers, since
// that depends on the number of bits alone.
template <class Key>
void SortOneByOne(const KernelContext& ctx, int64_t lines, int64_t n,
                  PairBuffers<Key>* pairs) {
  PairBuffers<Key> end = *pairs;
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t at = line * n;
    PairBuffers<Key> one{pairs->keys + at, pairs->other_keys + at,
                         pairs->values + at, pairs->other_values + at};
    SortPairs(ctx, n, 8 * sizeof(Key), &one);
    if (line == 0) {
      const bool swapped = one.keys != pairs->keys;
      if (swapped) {
        end = {pairs->other_keys, pairs->keys, pairs->other_values,
               pairs->values};
      }
    }
  }
  *pairs = end;
}

}  // namespace

void SortLines(const KernelContext& ctx, int64_t lines, int64_t n,
               PairBuffers<uint32_t>* pairs) {
  OneByOne(lines, n) ? SortOneByOne(ctx, lines, n, pairs)
                     : Sort(ctx, lines, n, pairs);
}
void SortLines(const KernelContext& ctx, int64_t lines, int64_t n,
               PairBuffers<uint64_t>* pairs) {
  OneByOne(lines, n) ? SortOneByOne(ctx, lines, n, pairs)
                     : Sort(ctx, lines, n, pairs);
}

}  // namespace proa::inline v0::ops::cuda
