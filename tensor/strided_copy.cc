#include "tensor/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "tensor/parallel.h"

namespace proa::inline v0 {
namespace {

// What a thread should get at least, to be worth waking it.
constexpr int64_t kGrainBytes = 256 << 10;
// Side of a transposition's tile: 16 x 16 items of 4 bytes are 16 cache lines.
constexpr int64_t kTile = 16;
// Rows of few columns that a task copies.
constexpr int64_t kLongBand = 1024;

struct Dim {
  int64_t size;
  int64_t dst;  // strides in elements
  int64_t src;
};
using Dims = absl::InlinedVector<Dim, 6>;

// Drops dims of size 1, orders the others by falling stride of the destination,
// so that it is written in order, and merges those that are one run in both.
Dims Collapse(const Shape& shape, const Strides& dst, const Strides& src) {
  Dims dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1) dims.push_back({shape[i], dst[i], src[i]});
  }
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::llabs(a.dst) > std::llabs(b.dst);
  });
  Dims merged;
  for (const Dim& d : dims) {
    if (!merged.empty() && merged.back().dst == d.dst * d.size &&
        merged.back().src == d.src * d.size) {
      merged.back() = {merged.back().size * d.size, d.dst, d.src};
    } else {
      merged.push_back(d);
    }
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

template <int kBytes>
struct alignas(kBytes == 16 ? 8 : kBytes) Item {
  char bytes[kBytes];
};

template <typename T>
void CopyRun(T* __restrict dst, int64_t dst_stride, const T* __restrict src,
             int64_t src_stride, int64_t n) {
  if (dst_stride == 1 && src_stride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
  } else if (dst_stride == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * src_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
  }
}

// Rows are contiguous in the source, columns in the destination: by tiles, so
// that both use whole cache lines.
template <typename T>
void CopyTiles(T* dst, const T* src, const Dim& row, const Dim& column) {
  for (int64_t r = 0; r < row.size; r += kTile) {
    const int64_t r_end = std::min(r + kTile, row.size);
    for (int64_t c = 0; c < column.size; c += kTile) {
      const int64_t c_end = std::min(c + kTile, column.size);
      for (int64_t i = r; i < r_end; ++i) {
        for (int64_t j = c; j < c_end; ++j) {
          dst[i * row.dst + j * column.dst] = src[i * row.src + j * column.src];
        }
      }
    }
  }
}

// The same of few columns that lie side by side in the destination: images
// whose channels come to each pixel. In vectors, a fifth of the time.
template <int kColumns, typename T>
__attribute__((optimize("O3"))) void InterleaveOf(T* __restrict dst,
                                                  const T* __restrict src,
                                                  int64_t rows, int64_t step) {
  for (int64_t i = 0; i < rows; ++i)
    for (int j = 0; j < kColumns; ++j)
      dst[i * kColumns + j] = src[j * step + i];
}

bool IsInterleaved(const Dim& row, const Dim& column) {
  return column.size >= 2 && column.size <= 4 && column.dst == 1 &&
         row.dst == column.size && row.src == 1;
}

template <typename T>
void CopyTransposed(T* dst, const T* src, const Dim& row, const Dim& column) {
  if (!IsInterleaved(row, column)) return CopyTiles(dst, src, row, column);
  switch (column.size) {
    case 2:
      return InterleaveOf<2>(dst, src, row.size, column.src);
    case 3:
      return InterleaveOf<3>(dst, src, row.size, column.src);
    default:
      return InterleaveOf<4>(dst, src, row.size, column.src);
  }
}

// Calls body(dst, src) for each index of the outer dims in [begin, end),
// counted in row-major order.
template <typename T, typename Body>
void ForEachOuter(const Dims& outer, T* dst, const T* src, int64_t begin,
                  int64_t end, Body body) {
  absl::InlinedVector<int64_t, 6> index(outer.size());
  int64_t rest = begin;
  for (int i = static_cast<int>(outer.size()) - 1; i >= 0; --i) {
    index[i] = rest % outer[i].size;
    rest /= outer[i].size;
    dst += index[i] * outer[i].dst;
    src += index[i] * outer[i].src;
  }
  for (int64_t n = begin; n < end; ++n) {
    body(dst, src);
    for (int i = static_cast<int>(outer.size()) - 1; i >= 0; --i) {
      dst += outer[i].dst;
      src += outer[i].src;
      if (++index[i] < outer[i].size) break;
      dst -= outer[i].size * outer[i].dst;
      src -= outer[i].size * outer[i].src;
      index[i] = 0;
    }
  }
}

template <typename T>
void CopyAs(T* dst, const T* src, Dims dims) {
  constexpr int64_t kGrain = kGrainBytes / static_cast<int64_t>(sizeof(T));
  if (dims.size() == 1) {
    const Dim d = dims[0];
    // Threads do not share a cache line of the destination.
    parallel_for(0, d.size, kGrain, [&](int64_t b, int64_t e) {
      CopyRun(dst + b * d.dst, d.dst, src + b * d.src, d.src, e - b);
    });
    return;
  }
  const Dim inner = dims.back();
  dims.pop_back();
  // Is there a dim along which the source is contiguous, where it is not along
  // the inner one? Then the two are a transposition.
  const auto row = std::find_if(dims.begin(), dims.end(), [](const Dim& d) {
    return std::llabs(d.src) == 1;
  });
  const bool tiles = std::llabs(inner.src) > 1 && row != dims.end() &&
                     inner.size > 1 && row->size > 1;
  Dim tile_row = {1, 0, 0};
  if (tiles) {
    tile_row = *row;
    dims.erase(row);
    // Bands of the rows can go to different threads.
    const int64_t band = IsInterleaved(tile_row, inner) ? kLongBand : kTile;
    dims.push_back(
        {tile_row.size / band, tile_row.dst * band, tile_row.src * band});
    const int64_t whole = dims.back().size * band, left = tile_row.size - whole;
    if (left > 0) {  // the last band is smaller
      Dims rest(dims.begin(), dims.end() - 1);
      int64_t count = 1;
      for (const Dim& d : rest) count *= d.size;
      const Dim last = {left, tile_row.dst, tile_row.src};
      parallel_for(0, count, std::max<int64_t>(1, kGrain / (inner.size * left)),
                   [&](int64_t b, int64_t e) {
                     ForEachOuter(rest, dst + whole * tile_row.dst,
                                  src + whole * tile_row.src, b, e,
                                  [&](T* d, const T* s) {
                                    CopyTransposed(d, s, last, inner);
                                  });
                   });
    }
    tile_row.size = band;
  }
  int64_t count = 1;
  for (const Dim& d : dims) count *= d.size;
  const int64_t work = inner.size * tile_row.size;
  parallel_for(0, count, std::max<int64_t>(1, kGrain / work),
               [&](int64_t b, int64_t e) {
                 ForEachOuter(dims, dst, src, b, e, [&](T* d, const T* s) {
                   if (tiles) {
                     CopyTransposed(d, s, tile_row, inner);
                   } else {
                     CopyRun(d, inner.dst, s, inner.src, inner.size);
                   }
                 });
               });
}

template <typename T>
void CopyAs(void* dst, const void* src, Dims dims) {
  CopyAs(static_cast<T*>(dst), static_cast<const T*>(src), std::move(dims));
}

}  // namespace

void StridedCopy(void* dst, const Strides& dst_strides, const void* src,
                 const Strides& src_strides, const Shape& shape,
                 int64_t item_size) {
  for (int64_t d : shape) {
    if (d == 0) return;
  }
  Dims dims = Collapse(shape, dst_strides, src_strides);
  switch (item_size) {
    case 1:
      return CopyAs<Item<1>>(dst, src, std::move(dims));
    case 2:
      return CopyAs<Item<2>>(dst, src, std::move(dims));
    case 4:
      return CopyAs<Item<4>>(dst, src, std::move(dims));
    case 8:
      return CopyAs<Item<8>>(dst, src, std::move(dims));
    default:
      return CopyAs<Item<16>>(dst, src, std::move(dims));
  }
}

ElementSpan SpanOf(const Shape& shape, const Strides& strides) {
  for (int64_t d : shape) {
    if (d == 0) return {0, 0};
  }
  ElementSpan span{0, 1};
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t reach = CheckedMul(shape[i] - 1, strides[i]);
    int64_t& end = reach < 0 ? span.low : span.high;
    end = CheckedAdd(end, reach);
  }
  return span;
}

}  // namespace proa::inline v0
