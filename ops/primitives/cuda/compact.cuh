// Compaction: elements that a condition chooses, one behind the other, in their
// order, on a GPU.
//
//   struct Chosen { const uint8_t* flags;
//                   __device__ bool operator()(int64_t i) const; };
//   const Compaction<Chosen> compaction(ctx, chosen, n);
//   const int64_t count = compaction.CountOnHost();        // waits
//   compaction.Run(emit);   // emit(i, k): element i is the k-th chosen one
//
// Chosen elements are counted chunk by chunk, and chunks are then written side
// by side.
#ifndef PROA_OPS_PRIMITIVES_CUDA_COMPACT_CUH_
#define PROA_OPS_PRIMITIVES_CUDA_COMPACT_CUH_

#include <cstdint>

#include "ops/kernel.h"
#include "ops/primitives/cuda/launch.h"

namespace proa::inline v0::ops::cuda {
namespace compact_internal {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kRounds = 16;
inline constexpr int64_t kChunk = int64_t{kThreads} * kRounds;

// In a warp: the sum of `v` over the lanes up to this one.
__device__ __forceinline__ int64_t SumUpTo(int64_t v) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int64_t other = __shfl_up_sync(~0u, v, step);
    if (lane >= step) v += other;
  }
  return v;
}

template <class Chosen>
__global__ void __launch_bounds__(kThreads)
    CountChunks(Chosen chosen, int64_t n, int64_t* counts) {
  const int64_t base = blockIdx.x * kChunk + threadIdx.x;
  int count = 0;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int64_t i = base + r * kThreads;
    count += __syncthreads_count(i < n && chosen(i));
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// Counts become sums of those before; behind the last that of all.
inline constexpr int kScanThreads = 1024;
template <int kOnce = 0>  // once in a program, as an inline function
__global__ void __launch_bounds__(kScanThreads)
    ScanCounts(int64_t* counts, int64_t chunks) {
  __shared__ int64_t of_warps[32];
  int64_t before = 0;
  for (int64_t base = 0; base < chunks; base += kScanThreads) {
    const int64_t at = base + threadIdx.x;
    const int64_t own = at < chunks ? counts[at] : 0;
    const int64_t up_to = SumUpTo(own);
    if (threadIdx.x % 32 == 31) of_warps[threadIdx.x / 32] = up_to;
    __syncthreads();
    if (threadIdx.x < 32) {
      of_warps[threadIdx.x] = SumUpTo(of_warps[threadIdx.x]);
    }
    __syncthreads();
    const int warp = threadIdx.x / 32;
    const int64_t of_others = warp == 0 ? 0 : of_warps[warp - 1];
    if (at < chunks) counts[at] = before + of_others + up_to - own;
    before += of_warps[31];
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[chunks] = before;
}

template <class Chosen, class Emit>
__global__ void __launch_bounds__(kThreads)
    EmitChunks(Chosen chosen, Emit emit, int64_t n,
               const int64_t* __restrict__ before) {
  // Of each round and warp, in the order of the elements.
  __shared__ int64_t starts[kRounds * kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t base = blockIdx.x * kChunk + threadIdx.x;
  unsigned votes[kRounds];
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int64_t i = base + r * kThreads;
    votes[r] = __ballot_sync(~0u, i < n && chosen(i));
    if (lane == 0) starts[r * kWarps + warp] = __popc(votes[r]);
  }
  __syncthreads();
  static_assert(kRounds * kWarps == 4 * 32);
  if (warp == 0) {
    int64_t sum = before[blockIdx.x];
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const int64_t own = starts[part * 32 + lane];
      const int64_t up_to = SumUpTo(own);
      starts[part * 32 + lane] = sum + up_to - own;
      sum += __shfl_sync(~0u, up_to, 31);
    }
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    if ((votes[r] >> lane & 1) == 0) continue;
    emit(base + r * kThreads,
         starts[r * kWarps + warp] + __popc(votes[r] & ((1u << lane) - 1)));
  }
}

}  // namespace compact_internal

template <class Chosen>
class Compaction {
 public:
  Compaction(const KernelContext& ctx, const Chosen& chosen, int64_t n)
      : chosen_(chosen),
        n_(n),
        chunks_(CeilDiv(n, compact_internal::kChunk)),
        stream_(StreamOf(ctx)),
        before_(ctx, (chunks_ + 1) * int64_t{sizeof(int64_t)}) {
    using namespace compact_internal;  // NOLINT
    if (n_ > 0) {
      CountChunks<Chosen>
          <<<static_cast<uint32_t>(chunks_), kThreads, 0, stream_>>>(
              chosen_, n_, before_.as<int64_t>());
      CheckLaunch("counts of chosen elements");
    }
    ScanCounts<>
        <<<1, kScanThreads, 0, stream_>>>(before_.as<int64_t>(), chunks_);
    CheckLaunch("sums of counts");
  }

  // How many are chosen; the host waits for it.
  int64_t CountOnHost() const {
    int64_t count = 0;
    CheckCuda(cudaMemcpyAsync(&count, count_on_device(), sizeof(count),
                              cudaMemcpyDeviceToHost, stream_),
              "cudaMemcpyAsync");
    CheckCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return count;
  }
  const int64_t* count_on_device() const {
    return before_.template as<int64_t>() + chunks_;
  }

  template <class Emit>
  void Run(const Emit& emit) const {
    using namespace compact_internal;  // NOLINT
    if (n_ == 0) return;
    EmitChunks<Chosen, Emit>
        <<<static_cast<uint32_t>(chunks_), kThreads, 0, stream_>>>(
            chosen_, emit, n_, before_.template as<int64_t>());
    CheckLaunch("chosen elements");
  }

 private:
  Chosen chosen_;
  int64_t n_, chunks_;
  cudaStream_t stream_;
  Workspace before_;
};

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_COMPACT_CUH_
