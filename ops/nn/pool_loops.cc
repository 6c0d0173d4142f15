// Compiled once for each instruction set (bazel/isa.bzl). Taps go outermost and
// neighbouring outputs (or channels) innermost, so that the loops vectorize.
#include "ops/nn/pool_loops.h"

#include <algorithm>
#include <vector>

#include "ops/nn/float_copy.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// The window of one output position, in input rows and columns, and what its
// mean divides by.
struct Extent {
  int64_t top, bottom, left, right, divisor;
};

template <typename T, typename A, int kStride>
void SumTap(const T* __restrict x, int64_t stride, int64_t n,
            A* __restrict sums) {
  const int64_t step = kStride > 0 ? kStride : stride;
  for (int64_t j = 0; j < n; ++j) sums[j] += static_cast<A>(x[j * step]);
}

// Of one plane [height, width].
template <typename T, typename A>
void MeanPlane(const PoolGeometry& g, bool exclusive, const T* x, T* out) {
  std::vector<A> sums(g.out[1]);
  const int64_t s = g.window.stride[1];
  for (int64_t i = 0; i < g.out[0]; ++i) {
    int64_t top, bottom;
    g.Range(0, i, &top, &bottom);
    const int64_t rows = g.Counted(0, i, exclusive);
    std::fill(sums.begin(), sums.end(), A(0));
    for (int64_t r = top; r < bottom; ++r) {
      for (int64_t q = 0; q < g.window.kernel[1]; ++q) {
        int64_t first, last;
        g.OutputsOfTap(1, q, &first, &last);
        if (first >= last) continue;
        const auto tap = s == 1   ? SumTap<T, A, 1>
                         : s == 2 ? SumTap<T, A, 2>
                                  : SumTap<T, A, 0>;
        tap(x + r * g.in[1] + first * s - g.window.pad_before[1] + q, s,
            last - first, sums.data() + first);
      }
    }
    for (int64_t j = 0; j < g.out[1]; ++j) {
      const int64_t divisor = rows * g.Counted(1, j, exclusive);
      out[i * g.out[1] + j] = T(sums[j] / static_cast<A>(divisor));
    }
  }
}

// Calls f(out_offset, window) for every output position of a block.
template <typename F>
void ForEachWindow(const PoolGeometry& g, const PoolBlock& b, bool exclusive,
                   F&& f) {
  for (int64_t i = 0; i < g.out[0]; ++i) {
    Extent e;
    g.Range(0, i, &e.top, &e.bottom);
    const int64_t rows = g.Counted(0, i, exclusive);
    for (int64_t j = 0; j < g.out[1]; ++j) {
      g.Range(1, j, &e.left, &e.right);
      e.divisor = rows * g.Counted(1, j, exclusive);
      f(b.out_start + i * b.out_row + j * b.out_column, e);
    }
  }
}

template <typename T>
void Mean(const PoolGeometry& g, const PoolBlock& b, bool exclusive,
          const void* x_data, void* out_data) {
  using A = typename Accumulate<T>::type;
  const T* x = static_cast<const T*>(x_data) + b.in_start;
  T* out = static_cast<T*>(out_data);
  if (!g.channels_last && g.ByTaps(1))
    return MeanPlane<T, A>(g, exclusive, x, out + b.out_start);
  ForEachWindow(g, b, exclusive, [&](int64_t o, const Extent& e) {
    A sums[kPoolChannelBlock] = {};
    for (int64_t r = e.top; r < e.bottom; ++r) {
      for (int64_t q = e.left; q < e.right; ++q) {
        const T* p = x + r * b.in_row + q * b.in_column;
        for (int64_t c = 0; c < b.channels; ++c)
          sums[c] += static_cast<A>(p[c]);
      }
    }
    const A divisor = static_cast<A>(e.divisor);
    for (int64_t c = 0; c < b.channels; ++c) out[o + c] = T(sums[c] / divisor);
  });
}

}  // namespace

PoolLoops PoolLoopsFor(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {Mean<float16>};
    case DType::kBFloat16:
      return {Mean<bfloat16>};
    case DType::kFloat32:
      return {Mean<float>};
    default:
      return {Mean<double>};
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
