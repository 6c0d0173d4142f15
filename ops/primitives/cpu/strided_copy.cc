#include "ops/primitives/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "ops/primitives/cpu/iteration.h"
#include "ops/primitives/cpu/streaming.h"
#include "ops/primitives/item_size.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

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

// A square of one 16-byte vector a side, turned on the way in: vector j becomes
// column j of the rows, which lie `stride` bytes apart. Each round interleaves
// the upper half of the rows with the lower one; after log2(side) rounds they
// are turned.
template <typename T>
struct Square {
  static constexpr int kSide = 16 / sizeof(T);
  typedef T Vector __attribute__((vector_size(16)));
  Vector column[kSide];

  static Vector Low(Vector a, Vector b) { return Interleave<0>(a, b); }
  static Vector High(Vector a, Vector b) { return Interleave<kSide / 2>(a, b); }

  __attribute__((always_inline)) void Load(const char* src, int64_t stride) {
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i)
      std::memcpy(&column[i], src + i * stride, 16);
#pragma GCC unroll 8
    for (int round = 1; round < kSide; round *= 2) {
      Vector next[kSide];
#pragma GCC unroll 16
      for (int i = 0; i < kSide / 2; ++i) {
        next[2 * i] = Low(column[i], column[i + kSide / 2]);
        next[2 * i + 1] = High(column[i], column[i + kSide / 2]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kSide; ++i) column[i] = next[i];
    }
  }

 private:
  template <int kFirst>
  __attribute__((always_inline)) static Vector Interleave(Vector a, Vector b) {
    Vector mask;
    for (int i = 0; i < kSide; ++i) {
      mask[i] = static_cast<T>(kFirst + i / 2 + (i % 2 != 0 ? kSide : 0));
    }
    return __builtin_shuffle(a, b, mask);
  }
};

// dst[j][i] = src[i][j] for n rows of m elements of src. For edges: see below.
template <typename T>
void TransposeTile(char* dst, int64_t ds, const char* src, int64_t ss,
                   int64_t n, int64_t m) {
  constexpr int64_t kSize = sizeof(T);
  int64_t whole_n = 0, whole_m = 0;
  if constexpr (kSize < 16) {
    constexpr int64_t kSide = Square<T>::kSide;
    whole_n = n - n % kSide;
    whole_m = m - m % kSide;
    for (int64_t i = 0; i < whole_n; i += kSide) {
      for (int64_t j = 0; j < whole_m; j += kSide) {
        Square<T> square;
        square.Load(src + i * ss + j * kSize, ss);
        for (int k = 0; k < kSide; ++k) {
          std::memcpy(dst + (j + k) * ds + i * kSize, &square.column[k], 16);
        }
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

constexpr int64_t kLine = 64;
// Orders streamed stores before what this thread does next.
inline void Fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Stores 16 bytes, past the caches if kStream; `dst` is aligned then.
template <bool kStream>
inline void Store16(char* dst, const void* src) {
#if defined(__SSE2__)
  if constexpr (kStream) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst),
                     _mm_loadu_si128(static_cast<const __m128i*>(src)));
    return;
  }
#endif
  std::memcpy(dst, src, 16);
}

// A strip: as many rows of src as make a cache line of dst, `m` columns (whole
// squares). Their columns are whole lines of dst. `ahead` bytes after each
// address of src is what will be read next: hardware does not guess jumps from
// row to row.
template <typename T, bool kStream>
void TransposeStrip(char* dst, int64_t ds, const char* src, int64_t ss,
                    int64_t m, int64_t ahead) {
  constexpr int64_t kSize = sizeof(T), kRows = kLine / kSize,
                    kSide = 16 / kSize;
  for (int64_t j = 0; j < m; j += kSide) {
    if (j * kSize % kLine == 0) {
      for (int64_t i = 0; i < kRows; ++i) {
        __builtin_prefetch(src + ahead + i * ss + j * kSize);
      }
    }
    if constexpr (kSize < 16 && !kStream) {
      // All of a line of src at once: rows that lie a power of two apart push
      // each other out of the cache.
      if (j * kSize % kLine == 0 && j + kRows <= m) {
        for (int b = 0; b < 4; ++b) {
          for (int64_t i = j; i < j + kRows; i += kSide) {
            Square<T> square;
            square.Load(src + b * kSide * ss + i * kSize, ss);
#pragma GCC unroll 16
            for (int k = 0; k < kSide; ++k) {
              std::memcpy(dst + (i + k) * ds + b * 16, &square.column[k], 16);
            }
          }
        }
        j += kRows - kSide;
        continue;
      }
    }
    if constexpr (kSize < 16) {
      Square<T> square[4];
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        square[b].Load(src + b * kSide * ss + j * kSize, ss);
      }
#pragma GCC unroll 16
      for (int k = 0; k < kSide; ++k) {
#pragma GCC unroll 4
        for (int b = 0; b < 4; ++b) {
          Store16<kStream>(dst + (j + k) * ds + b * 16, &square[b].column[k]);
        }
      }
    } else {
      for (int b = 0; b < 4; ++b) {
        Store16<kStream>(dst + j * ds + b * 16, src + b * ss + j * kSize);
      }
    }
  }
}

// Columns of src that are copied together: strips one below the other share the
// pages of dst.
template <typename T>
inline constexpr int64_t kBand = std::max<int64_t>(16, 512 / sizeof(T));

// A plane of dims 0 (written contiguously) and `across` (read contiguously):
// dst has m rows of n, src has n rows of m. `stream`: dst is too large to stay
// in the caches.
template <typename T>
void CopyTransposed(char* dst, int64_t ds, const char* src, int64_t ss,
                    int64_t n, int64_t m, bool stream) {
  constexpr int64_t kSize = sizeof(T), kRows = kLine / kSize,
                    kSide = 16 / kSize;
  const bool lines =
      ds % kLine == 0 && reinterpret_cast<uintptr_t>(dst) % kSize == 0;
  int64_t head = 0;  // rows of src before the first whole line of dst
  if (lines) {
    head = std::min<int64_t>(
        n, (-reinterpret_cast<uintptr_t>(dst) & (kLine - 1)) / kSize);
  }
  const int64_t end = n - (n - head) % kRows, whole = m - m % kSide;
  TransposeTile<T>(dst, ds, src, ss, head, m);
  for (int64_t i = head; i < end; i += kRows) {
    char* d = dst + i * kSize;
    const char* s = src + i * ss;
    const int64_t ahead =
        i + kRows < end ? kRows * ss : (head - i) * ss + m * kSize;
    if (stream && lines) {
      TransposeStrip<T, true>(d, ds, s, ss, whole, ahead);
    } else {
      TransposeStrip<T, false>(d, ds, s, ss, whole, ahead);
    }
    TransposeTile<T>(d + whole * ds, ds, s + whole * kSize, ss, kRows,
                     m - whole);
  }
  TransposeTile<T>(dst + end * kSize, ds, src + end * ss, ss, n - end, m);
}

// Walks dims [first, rank) of the plan in row-major order from flat position
// `begin` and calls `f(dst, src)` for each of `count` positions.
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

// `n` runs of kItems elements: shorter than a call of anything takes. Strides
// are of the elements and of the runs, in bytes.
template <int kItems, typename T>
void CopyShortRuns(char* dst, const int64_t* ds, const char* src,
                   const int64_t* ss, int64_t n) {
  const int64_t to = ds[0], from = ss[0];
  for (int64_t i = 0; i < n; ++i, dst += ds[1], src += ss[1]) {
    T items[kItems];
#pragma GCC unroll 8
    for (int k = 0; k < kItems; ++k) {
      items[k] = *reinterpret_cast<const T*>(src + k * from);
    }
#pragma GCC unroll 8
    for (int k = 0; k < kItems; ++k) {
      *reinterpret_cast<T*>(dst + k * to) = items[k];
    }
  }
}

// As CopyShortRuns, of bytes: pixels of kChannels bytes that lie one behind the
// other become planes. A round of riffling the 16 * kChannels bytes (byte k of
// the first half before byte k of the second) moves byte i to 2 * i modulo
// their number less one; four rounds multiply by 16, and
// 16 * kChannels is one more than that number: channels have come together.
template <int kChannels>
void CopyPixels(char* dst, const int64_t* ds, const char* src,
                const int64_t* ss, int64_t n) {
  int64_t i = 0;
#if defined(__SSE2__)
  for (; i + 16 <= n; i += 16) {
    __m128i bytes[kChannels], next[kChannels];
    std::memcpy(bytes, src + i * kChannels, sizeof(bytes));
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
      // The 8 bytes from 8 * k on, in the lower half.
      const auto eight = [&](int k) {
        return k % 2 == 0 ? bytes[k / 2]
                          : _mm_unpackhi_epi64(bytes[k / 2], bytes[k / 2]);
      };
#pragma GCC unroll 4
      for (int k = 0; k < kChannels; ++k) {
        next[k] = _mm_unpacklo_epi8(eight(k), eight(k + kChannels));
      }
#pragma GCC unroll 4
      for (int k = 0; k < kChannels; ++k) bytes[k] = next[k];
    }
    for (int k = 0; k < kChannels; ++k) {
      std::memcpy(dst + k * ds[0] + i, &bytes[k], 16);
    }
  }
#endif
  CopyShortRuns<kChannels, uint8_t>(dst + i * ds[1], ds, src + i * ss[1], ss,
                                    n - i);
}

template <typename T>
using ShortRuns = void (*)(char*, const int64_t*, const char*, const int64_t*,
                           int64_t);
template <typename T>
constexpr ShortRuns<T> kShortRuns[] = {
    nullptr,
    nullptr,
    CopyShortRuns<2, T>,
    CopyShortRuns<3, T>,
    CopyShortRuns<4, T>,
    CopyShortRuns<5, T>,
    CopyShortRuns<6, T>,
    CopyShortRuns<7, T>,
    CopyShortRuns<8, T>,
};
// Of bytes that are contiguous in the planes and, as pixels, in the source.
constexpr ShortRuns<uint8_t> kPixels[] = {nullptr, nullptr, CopyPixels<2>,
                                          CopyPixels<3>, CopyPixels<4>};

// Whether dim d is of the channels of bytes that CopyPixels takes.
bool IsPixels(const IterationPlan& plan, int d) {
  return plan.strides[0][0] == 1 && plan.dims[d] == plan.strides[1][0] &&
         plan.dims[d] < static_cast<int64_t>(std::size(kPixels));
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
  constexpr int64_t kShort = std::size(kShortRuns<T>);
  // Short runs: along dim 0, or of the dim that src has contiguous, as the
  // channels of pixels that become planes.
  int few = n < kShort ? 0 : -1;
  int across = 0;  // the dim that src has contiguous, if it is not dim 0
  if (ds == kSize && ss != kSize && ss != 0) {
    for (int d = 1; d < plan.rank && across == 0; ++d) {
      if (plan.strides[1][d] != kSize) continue;
      if (plan.dims[d] * kSize >= 16) {
        across = d;
      } else if ((kSize >= 4 ? plan.dims[d] < kShort : IsPixels(plan, d)) &&
                 few < 0) {
        few = d;
      }
    }
  }
  if (across != 0 && n >= 4) {
    const int64_t m = plan.dims[across];
    const int64_t outer = plan.numel / (n * m);
    // Pieces are bands of m, so that one large plane is split too.
    constexpr int64_t kWidth = kBand<T>;
    const int64_t bands = (m + kWidth - 1) / kWidth;
    const int64_t band_grain = std::max<int64_t>(1, grain / (n * kWidth));
    const bool stream = PaysToStream(2 * plan.numel * kSize);
    parallel_for(0, outer * bands, band_grain, [&](int64_t b, int64_t e) {
      for (int64_t piece = b; piece < e; ++piece) {
        const int64_t j = piece % bands * kWidth;
        WalkOuter(plan, 1, across, piece / bands, 1,
                  [&](char* d, const char* s) {
                    CopyTransposed<T>(d + j * plan.strides[0][across],
                                      plan.strides[0][across], s + j * kSize,
                                      ss, n, std::min(kWidth, m - j), stream);
                  });
      }
      if (stream) Fence();
    });
    return;
  }
  if (few >= 0) {
    const int along = few == 0 ? 1 : 0;
    const int64_t items = plan.dims[few], runs = plan.dims[along];
    ShortRuns<T> copy = kShortRuns<T>[items];
    if constexpr (kSize == 1) {
      if (few > 0) copy = kPixels[items];
    }
    const int64_t to[] = {plan.strides[0][few], plan.strides[0][along]};
    const int64_t from[] = {plan.strides[1][few], plan.strides[1][along]};
    // Pieces are bands of the runs, so that one long row of them is split too.
    const int64_t band = std::min(runs, std::max<int64_t>(1, grain / items));
    const int64_t bands = (runs + band - 1) / band;
    const int64_t outer = plan.numel / (items * runs);
    parallel_for(0, outer * bands, std::max<int64_t>(1, grain / (items * band)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t piece = b; piece < e; ++piece) {
                     const int64_t i = piece % bands * band;
                     // (One of the two is dim 0, which it does not walk.)
                     WalkOuter(plan, 1, std::max(few, along), piece / bands, 1,
                               [&](char* d, const char* s) {
                                 copy(d + i * to[1], to, s + i * from[1], from,
                                      std::min(band, runs - i));
                               });
                   }
                 });
    return;
  }
  const int64_t rows = plan.numel / n;
  parallel_for(
      0, rows, std::max<int64_t>(1, grain / n), [&](int64_t b, int64_t e) {
        WalkOuter(plan, 1, 0, b, e - b,
                  [&](char* d, const char* s) { CopyRun<T>(d, ds, s, ss, n); });
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
  VisitItemSize(item_size, [&]<typename T>(T) { CopyPlan<T>(plan); });
}

void CopyPlane(int64_t item_size, int64_t rows, int64_t columns, char* dst,
               int64_t dst_row_stride, const char* src, int64_t row_stride,
               int64_t column_stride) {
  VisitItemSize(item_size, [&]<typename T>(T) {
    const int64_t ds = dst_row_stride;
    if (row_stride == sizeof(T)) {
      // In bands, so that the lines that a strip of them touches stay in the
      // cache.
      for (int64_t r = 0; r < rows; r += kBand<T>) {
        CopyTransposed<T>(dst + r * ds, ds, src + r * row_stride, column_stride,
                          columns, std::min(kBand<T>, rows - r),
                          /*stream=*/false);
      }
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      CopyRun<T>(dst + r * ds, sizeof(T), src + r * row_stride, column_stride,
                 columns);
    }
  });
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
    std::memcpy(static_cast<char*>(dst) + b, static_cast<const char*>(src) + b,
                e - b);
  });
}

void ZeroBytes(void* dst, int64_t bytes) {
  parallel_for(0, bytes, kCopyGrainBytes, [&](int64_t b, int64_t e) {
    std::memset(static_cast<char*>(dst) + b, 0, e - b);
  });
}

void Zero(const Tensor& t) { ZeroBytes(t.raw_data(), t.bytes()); }

namespace {

// Copies of a block that stays in the cache: memcpy is there for each kind of
// CPU, std::fill is compiled for the least.
template <typename T>
void FillRun(T* to, int64_t n, T value) {
  const int64_t block = std::min<int64_t>(n, 4096 / sizeof(T));
  std::fill_n(to, block, value);
  for (int64_t done = block; done < n; done += block) {
    std::memcpy(to + done, to,
                static_cast<size_t>(std::min(block, n - done)) * sizeof(T));
  }
}

}  // namespace

void Fill(const Tensor& t, const Scalar& value) {
  VisitDType(t.dtype(), [&]<typename T>(TypeTag<T>) {
    const T v = value.to<T>();
    T* data = t.data<T>();
    parallel_for(0, t.numel(),
                 kCopyGrainBytes / static_cast<int64_t>(sizeof(T)),
                 [&](int64_t b, int64_t e) { FillRun(data + b, e - b, v); });
  });
}

}  // namespace proa::inline v0::ops::cpu
