#include "ops/primitives/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "ops/primitives/cpu/iteration.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

struct Item16 {
  uint64_t half[2];
};

// Copies a run of n elements, dst and src apart by their strides in bytes.
template <typename T>
void CopyRun(char* dst, int64_t dst_stride, const char* src, int64_t src_stride,
             int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  if (dst_stride == kSize && src_stride == kSize) {
    std::memcpy(dst, src, n * kSize);
  } else if (dst_stride == kSize && src_stride == 0) {
    std::fill_n(reinterpret_cast<T*>(dst), n, *reinterpret_cast<const T*>(src));
  } else if (dst_stride == kSize) {
    T* d = reinterpret_cast<T*>(dst);
    for (int64_t i = 0; i < n; ++i, src += src_stride) {
      d[i] = *reinterpret_cast<const T*>(src);
    }
  } else {
    for (int64_t i = 0; i < n; ++i, src += src_stride, dst += dst_stride) {
      *reinterpret_cast<T*>(dst) = *reinterpret_cast<const T*>(src);
    }
  }
}

// dst[j][i] = src[i][j] for a square of one 16-byte vector a side; rows lie ds and ss
// bytes apart.
template <typename T>
void TransposeSquare(char* dst, int64_t ds, const char* src, int64_t ss) {
  constexpr int kSide = 16 / sizeof(T);
  typedef T Vector __attribute__((vector_size(16)));
  Vector r[kSide];
  for (int i = 0; i < kSide; ++i) std::memcpy(&r[i], src + i * ss, 16);
  if constexpr (kSide == 4) {
    const Vector a = __builtin_shuffle(r[0], r[1], Vector{0, 4, 1, 5});
    const Vector b = __builtin_shuffle(r[2], r[3], Vector{0, 4, 1, 5});
    const Vector c = __builtin_shuffle(r[0], r[1], Vector{2, 6, 3, 7});
    const Vector d = __builtin_shuffle(r[2], r[3], Vector{2, 6, 3, 7});
    r[0] = __builtin_shuffle(a, b, Vector{0, 1, 4, 5});
    r[1] = __builtin_shuffle(a, b, Vector{2, 3, 6, 7});
    r[2] = __builtin_shuffle(c, d, Vector{0, 1, 4, 5});
    r[3] = __builtin_shuffle(c, d, Vector{2, 3, 6, 7});
  } else {
    const Vector a = __builtin_shuffle(r[0], r[1], Vector{0, 2});
    r[1] = __builtin_shuffle(r[0], r[1], Vector{1, 3});
    r[0] = a;
  }
  for (int j = 0; j < kSide; ++j) std::memcpy(dst + j * ds, &r[j], 16);
}

// The same for any sizes: dst has m rows of n, src has n rows of m.
template <typename T>
void TransposeTile(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n,
                   int64_t m) {
  constexpr int64_t kSize = sizeof(T);
  constexpr int64_t kSide = kSize == 4 || kSize == 8 ? 16 / kSize : 1;
  int64_t whole_n = 0, whole_m = 0;
  if constexpr (kSide > 1) {
    whole_n = n - n % kSide;
    whole_m = m - m % kSide;
    for (int64_t i = 0; i < whole_n; i += kSide) {
      for (int64_t j = 0; j < whole_m; j += kSide) {
        TransposeSquare<T>(dst + j * ds + i * kSize, ds, src + i * ss + j * kSize, ss);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const T* row = reinterpret_cast<const T*>(src + i * ss);
    for (int64_t j = i < whole_n ? whole_m : 0; j < m; ++j) {
      *reinterpret_cast<T*>(dst + j * ds + i * kSize) = row[j];
    }
  }
}

// A plane of dims 0 (written contiguously) and `across` (read contiguously) is copied
// in tiles that stay in the L1 cache, of whole cache lines of either side. A tile is
// made in a buffer of its own: rows of the operands often lie a power of two apart and
// would push each other out of the cache.
template <typename T>
void CopyTransposed(char* dst, int64_t dst_stride, const char* src,
                    int64_t src_stride, int64_t n, int64_t m) {
  constexpr int64_t kTile = sizeof(T) <= 4 ? 64 : 32;
  constexpr int64_t kRow = kTile * sizeof(T);
  alignas(64) char tile[kTile * kRow];
  // dst: row j of m at j * dst_stride; src: row i of n at i * src_stride.
  for (int64_t i0 = 0; i0 < n; i0 += kTile) {
    for (int64_t j0 = 0; j0 < m; j0 += kTile) {
      const int64_t rows = std::min(kTile, m - j0), cols = std::min(kTile, n - i0);
      TransposeTile<T>(tile, kRow, src + i0 * src_stride + j0 * sizeof(T), src_stride,
                       cols, rows);
      char* d = dst + j0 * dst_stride + i0 * sizeof(T);
      for (int64_t j = 0; j < rows; ++j) {
        std::memcpy(d + j * dst_stride, tile + j * kRow, cols * sizeof(T));
      }
    }
  }
}

// Walks dims [first, rank) of the plan in row-major order from flat position `begin`
// and calls `f(dst, src)` for each of `count` positions.
template <typename F>
void WalkOuter(const IterationPlan& plan, int first, int skip, int64_t begin,
               int64_t count, F f) {
  int64_t index[kMaxRank];
  char* dst = plan.data[0];
  const char* src = plan.data[1];
  for (int d = first; d < plan.rank; ++d) {
    if (d == skip) continue;
    index[d] = begin % plan.dims[d];
    begin /= plan.dims[d];
    dst += index[d] * plan.strides[0][d];
    src += index[d] * plan.strides[1][d];
  }
  while (count-- > 0) {
    f(dst, src);
    for (int d = first; d < plan.rank; ++d) {
      if (d == skip) continue;
      dst += plan.strides[0][d];
      src += plan.strides[1][d];
      if (++index[d] < plan.dims[d]) break;
      index[d] = 0;
      dst -= plan.dims[d] * plan.strides[0][d];
      src -= plan.dims[d] * plan.strides[1][d];
    }
  }
}

template <typename T>
void CopyPlan(const IterationPlan& plan) {
  constexpr int64_t kSize = sizeof(T);
  const int64_t n = plan.dims[0];
  const int64_t ds = plan.strides[0][0], ss = plan.strides[1][0];
  const int64_t grain = std::max<int64_t>(1, kCopyGrainBytes / kSize);
  if (plan.rank == 1) {
    parallel_for(0, n, grain, [&](int64_t b, int64_t e) {
      CopyRun<T>(plan.data[0] + b * ds, ds, plan.data[1] + b * ss, ss, e - b);
    });
    return;
  }
  int across = 0;  // the dim that src has contiguous, if it is not dim 0
  if (ds == kSize && ss != kSize && ss != 0) {
    for (int d = 1; d < plan.rank && across == 0; ++d) {
      if (plan.strides[1][d] == kSize && plan.dims[d] >= 4) across = d;
    }
  }
  if (across != 0 && n >= 4) {
    const int64_t m = plan.dims[across];
    const int64_t outer = plan.numel / (n * m);
    // Pieces are bands of m, so that one large plane is split too.
    constexpr int64_t kBand = 64;
    const int64_t bands = (m + kBand - 1) / kBand;
    const int64_t band_grain = std::max<int64_t>(1, grain / (n * kBand));
    parallel_for(0, outer * bands, band_grain, [&](int64_t b, int64_t e) {
      for (int64_t piece = b; piece < e; ++piece) {
        const int64_t j = piece % bands * kBand;
        WalkOuter(plan, 1, across, piece / bands, 1, [&](char* d, const char* s) {
          CopyTransposed<T>(d + j * plan.strides[0][across],
                            plan.strides[0][across], s + j * kSize, ss, n,
                            std::min(kBand, m - j));
        });
      }
    });
    return;
  }
  const int64_t rows = plan.numel / n;
  parallel_for(0, rows, std::max<int64_t>(1, grain / n), [&](int64_t b, int64_t e) {
    WalkOuter(plan, 1, 0, b, e - b, [&](char* d, const char* s) {
      CopyRun<T>(d, ds, s, ss, n);
    });
  });
}

}  // namespace

void StridedCopy(const Shape& shape, int64_t item_size, void* dst,
                 const Strides& dst_strides, const void* src,
                 const Strides& src_strides) {
  if (shape.numel() == 0) return;
  int64_t bytes[2][kMaxRank];
  for (int i = 0; i < shape.rank(); ++i) {
    bytes[0][i] = dst_strides[i] * item_size;
    bytes[1][i] = src_strides[i] * item_size;
  }
  char* const data[2] = {static_cast<char*>(dst),
                         static_cast<char*>(const_cast<void*>(src))};
  const int64_t* const strides[2] = {bytes[0], bytes[1]};
  IterationPlan plan;
  PlanIteration(shape, 2, data, strides, &plan);
  switch (item_size) {
    case 1: return CopyPlan<uint8_t>(plan);
    case 2: return CopyPlan<uint16_t>(plan);
    case 4: return CopyPlan<uint32_t>(plan);
    case 8: return CopyPlan<uint64_t>(plan);
    default: return CopyPlan<Item16>(plan);
  }
}

void CopyElements(const Tensor& src, const Tensor& dst) {
  if (src.shape() == dst.shape()) {
    if (src.is_contiguous() && dst.is_contiguous()) {
      return CopyBytes(dst.raw_data(), src.raw_data(), dst.bytes());
    }
    return StridedCopy(dst.shape(), ItemSize(dst.dtype()), dst.raw_data(),
                       dst.strides(), src.raw_data(), src.strides());
  }
  const int shift = dst.rank() - src.rank();
  Strides strides(dst.rank(), 0);
  for (int i = 0; i < src.rank(); ++i) {
    if (src.size(i) != 1) strides[i + shift] = src.strides()[i];
  }
  StridedCopy(dst.shape(), ItemSize(dst.dtype()), dst.raw_data(), dst.strides(),
              src.raw_data(), strides);
}

void CopyBytes(void* dst, const void* src, int64_t bytes) {
  parallel_for(0, bytes, kCopyGrainBytes, [&](int64_t b, int64_t e) {
    std::memcpy(static_cast<char*>(dst) + b, static_cast<const char*>(src) + b, e - b);
  });
}

void ZeroBytes(void* dst, int64_t bytes) {
  parallel_for(0, bytes, kCopyGrainBytes, [&](int64_t b, int64_t e) {
    std::memset(static_cast<char*>(dst) + b, 0, e - b);
  });
}

void Zero(const Tensor& t) { ZeroBytes(t.raw_data(), t.bytes()); }

void Fill(const Tensor& t, const Scalar& value) {
  VisitDType(t.dtype(), [&]<typename T>(TypeTag<T>) {
    const T v = value.to<T>();
    T* data = t.data<T>();
    parallel_for(0, t.numel(), kCopyGrainBytes / static_cast<int64_t>(sizeof(T)),
                 [&](int64_t b, int64_t e) { std::fill(data + b, data + e, v); });
  });
}

}  // namespace proa::inline v0::ops::cpu
