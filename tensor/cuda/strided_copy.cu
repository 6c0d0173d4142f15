#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tensor/cuda/check.h"
#include "tensor/cuda/offsets.h"
#include "tensor/cuda/strided_copy.h"

namespace proa::inline v0 {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;
constexpr int kTile = 32;
constexpr int kTileRows = 8;
constexpr int64_t kMostPositions = (int64_t{1} << 31) - 1;

struct alignas(16) Item16 {
  uint64_t words[2];
};

// dims[0] is the innermost of dst; strides in bytes.
struct Plan {
  int rank = 0;
  int64_t sizes[cuda::kMaxDims];
  int64_t dst[cuda::kMaxDims], src[cuda::kMaxDims];

  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= sizes[d];
    return n;
  }
};

// False if too many dims remain.
bool MakePlan(const int64_t* dst, const int64_t* src, const int64_t* sizes,
              int rank, Plan* plan) {
  struct Dim {
    int64_t size, dst, src;
  };
  constexpr int kMost = 64;
  Dim dims[kMost];
  int n = 0;
  if (rank > kMost) return false;
  for (int d = rank - 1; d >= 0; --d) {
    if (sizes[d] != 1) dims[n++] = {sizes[d], dst[d], src[d]};
  }
  const auto magnitude = [](int64_t v) { return v < 0 ? -v : v; };
  std::stable_sort(dims, dims + n, [&](const Dim& a, const Dim& b) {
    return magnitude(a.dst) < magnitude(b.dst);
  });
  int last = -1;
  for (int i = 0; i < n; ++i) {
    if (last >= 0 && dims[i].dst == dims[last].dst * dims[last].size &&
        dims[i].src == dims[last].src * dims[last].size) {
      dims[last].size *= dims[i].size;
    } else {
      dims[++last] = dims[i];
    }
  }
  n = last + 1;
  if (n > cuda::kMaxDims) return false;
  plan->rank = n;
  for (int i = 0; i < n; ++i) {
    plan->sizes[i] = dims[i].size;
    plan->dst[i] = dims[i].dst;
    plan->src[i] = dims[i].src;
  }
  return true;
}

template <class Item>
__global__ void CopyItems(char* dst, const char* src, uint32_t n,
                          cuda::Offsets<2> offsets) {
  uint32_t i = blockIdx.x * (kThreads * kPerThread) + threadIdx.x;
  Item items[kPerThread];
  int64_t to[kPerThread];
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const uint32_t at = i + k * kThreads;
    if (at >= n) break;
    int64_t offset[2];
    offsets.At(at, offset);
    to[k] = offset[0];
    items[k] = *reinterpret_cast<const Item*>(src + offset[1]);
  }
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (i + k * kThreads >= n) break;
    *reinterpret_cast<Item*>(dst + to[k]) = items[k];
  }
}

// Dims 0 (along which dst is dense) and 1 (along which src is) by tiles; the
// others are counted by `batch`.
template <class Item>
__global__ void TransposeTiles(char* dst, const char* src, int64_t size0,
                               int64_t size1, int64_t dst1, int64_t src0,
                               uint32_t tiles0, uint32_t tiles1,
                               cuda::Offsets<2> batch) {
  __shared__ Item tile[kTile][kTile + 1];
  const uint32_t block = blockIdx.x;
  const uint32_t t0 = block % tiles0, rest = block / tiles0;
  const uint32_t t1 = rest % tiles1, b = rest / tiles1;
  int64_t offset[2];
  batch.At(b, offset);
  const int64_t base0 = int64_t{t0} * kTile, base1 = int64_t{t1} * kTile;
  const int64_t in1 = base1 + threadIdx.x;
#pragma unroll
  for (int r = threadIdx.y; r < kTile; r += kTileRows) {
    const int64_t in0 = base0 + r;
    if (in0 < size0 && in1 < size1) {
      tile[r][threadIdx.x] = *reinterpret_cast<const Item*>(
          src + offset[1] + in0 * src0 + in1 * int64_t{sizeof(Item)});
    }
  }
  __syncthreads();
  const int64_t out0 = base0 + threadIdx.x;
#pragma unroll
  for (int r = threadIdx.y; r < kTile; r += kTileRows) {
    const int64_t out1 = base1 + r;
    if (out0 < size0 && out1 < size1) {
      *reinterpret_cast<Item*>(dst + offset[0] + out1 * dst1 +
                               out0 * int64_t{sizeof(Item)}) =
          tile[threadIdx.x][r];
    }
  }
}

struct Value {
  uint8_t bytes[16];
};

__global__ void StoreValue(uint8_t* dst, Value value, int n) {
  if (static_cast<int>(threadIdx.x) < n) {
    dst[threadIdx.x] = value.bytes[threadIdx.x];
  }
}

cuda::Offsets<2> OffsetsOf(const Plan& plan, int first) {
  cuda::Offsets<2> offsets;
  offsets.rank = std::max(1, plan.rank - first);
  for (int d = first; d < plan.rank; ++d) {
    offsets.dims[d - first] =
        cuda::Divider(static_cast<uint32_t>(plan.sizes[d]));
    offsets.strides[0][d - first] = plan.dst[d];
    offsets.strides[1][d - first] = plan.src[d];
  }
  return offsets;
}

template <class Item>
bool TransposeIfFits(char* dst, const char* src, Plan plan,
                     cudaStream_t stream) {
  constexpr int64_t kItem = sizeof(Item);
  if (plan.rank < 2 || plan.dst[0] != kItem || plan.src[0] == kItem) {
    return false;
  }
  int dense = 1;
  while (dense < plan.rank && plan.src[dense] != kItem) ++dense;
  if (dense == plan.rank || plan.sizes[0] < 8 || plan.sizes[dense] < 8) {
    return false;
  }
  std::swap(plan.sizes[1], plan.sizes[dense]);
  std::swap(plan.dst[1], plan.dst[dense]);
  std::swap(plan.src[1], plan.src[dense]);
  const int64_t tiles0 = (plan.sizes[0] + kTile - 1) / kTile;
  const int64_t tiles1 = (plan.sizes[1] + kTile - 1) / kTile;
  int64_t blocks = tiles0 * tiles1;
  for (int d = 2; d < plan.rank; ++d) blocks *= plan.sizes[d];
  if (blocks > kMostPositions) return false;
  TransposeTiles<Item>
      <<<static_cast<uint32_t>(blocks), dim3(kTile, kTileRows), 0, stream>>>(
          dst, src, plan.sizes[0], plan.sizes[1], plan.dst[1], plan.src[0],
          static_cast<uint32_t>(tiles0), static_cast<uint32_t>(tiles1),
          OffsetsOf(plan, 2));
  CheckCuda(cudaGetLastError(), "transposing copy");
  return true;
}

template <class Item>
void Run(char* dst, const char* src, const Plan& plan, cudaStream_t stream) {
  const int64_t n = plan.numel();
  if (n == 0) return;
  if (TransposeIfFits<Item>(dst, src, plan, stream)) return;
  if (n > kMostPositions) {  // in two parts, along the longest dim
    int d = 0;
    for (int i = 1; i < plan.rank; ++i) {
      if (plan.sizes[i] > plan.sizes[d]) d = i;
    }
    Plan part = plan;
    const int64_t half = plan.sizes[d] / 2;
    part.sizes[d] = half;
    Run<Item>(dst, src, part, stream);
    part.sizes[d] = plan.sizes[d] - half;
    Run<Item>(dst + half * plan.dst[d], src + half * plan.src[d], part, stream);
    return;
  }
  constexpr int64_t kBlock = kThreads * kPerThread;
  CopyItems<Item>
      <<<static_cast<uint32_t>((n + kBlock - 1) / kBlock), kThreads, 0,
         stream>>>(dst, src, static_cast<uint32_t>(n), OffsetsOf(plan, 0));
  CheckCuda(cudaGetLastError(), "strided copy");
}

}  // namespace

bool CudaStridedCopy(void* dst, const int64_t* dst_strides, const void* src,
                     const int64_t* src_strides, const int64_t* sizes, int rank,
                     int64_t item_size, cudaStream_t stream) {
  Plan plan;
  if (!MakePlan(dst_strides, src_strides, sizes, rank, &plan)) return false;
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  switch (item_size) {
    case 1:
      Run<uint8_t>(to, from, plan, stream);
      return true;
    case 2:
      Run<uint16_t>(to, from, plan, stream);
      return true;
    case 4:
      Run<uint32_t>(to, from, plan, stream);
      return true;
    case 8:
      Run<uint64_t>(to, from, plan, stream);
      return true;
    case 16:
      Run<Item16>(to, from, plan, stream);
      return true;
    default:
      return false;
  }
}

void CudaStoreValue(void* dst, const void* src_host, int64_t bytes,
                    cudaStream_t stream) {
  Value value = {};
  std::memcpy(value.bytes, src_host, static_cast<size_t>(bytes));
  StoreValue<<<1, sizeof(Value), 0, stream>>>(static_cast<uint8_t*>(dst), value,
                                              static_cast<int>(bytes));
  CheckCuda(cudaGetLastError(), "store of a value");
}

}  // namespace proa::inline v0
