// Compiled once for each instruction set (bazel/isa.bzl). Taps go outermost and
// neighbouring outputs (or channels) innermost, so that the loops vectorize.
#include "ops/nn/pool_loops.h"

#include <algorithm>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/nn/mean_pool_grad.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

struct Span {
  int64_t begin, end;
};

// The window of one output position, in input positions of each dim, and what
// its mean divides by.
template <typename A>
struct Extent {
  Span at[kMostSpatialDims];
  A divisor;
};

template <typename T, typename A, int kStride>
void SumTap(const T* __restrict x, int64_t stride, int64_t n,
            A* __restrict sums) {
  const int64_t step = kStride > 0 ? kStride : stride;
  for (int64_t j = 0; j < n; ++j) sums[j] += static_cast<A>(x[j * step]);
}

// Adds a row of the input to the sums of the windows that see it.
template <typename T, typename A>
void SumRow(const PoolGeometry& g, const T* row, A* sums) {
  const int64_t s = g.window.stride[2];
  for (int64_t q = 0; q < g.window.kernel[2]; ++q) {
    int64_t first, last;
    g.OutputsOfTap(2, q, &first, &last);
    if (first >= last) continue;
    const auto tap = s == 1   ? SumTap<T, A, 1>
                     : s == 2 ? SumTap<T, A, 2>
                              : SumTap<T, A, 0>;
    tap(row + first * s - g.window.pad_before[2] + q, s, last - first,
        sums + first);
  }
}

// Of one image [depth, height, width].
template <typename T, typename A>
void MeanPlane(const PoolGeometry& g, const PoolDivisor& divisor, const T* x,
               T* out) {
  std::vector<A> sums(g.out[2]);
  for (int64_t k = 0; k < g.out[0]; ++k) {
    Span planes, rows;
    g.Range(0, k, &planes.begin, &planes.end);
    const int64_t deep = g.Counted(0, k, divisor.exclusive);
    for (int64_t i = 0; i < g.out[1]; ++i) {
      g.Range(1, i, &rows.begin, &rows.end);
      const int64_t high = deep * g.Counted(1, i, divisor.exclusive);
      std::fill(sums.begin(), sums.end(), A(0));
      for (int64_t p = planes.begin; p < planes.end; ++p)
        for (int64_t r = rows.begin; r < rows.end; ++r)
          SumRow(g, x + (p * g.in[1] + r) * g.in[2], sums.data());
      for (int64_t j = 0; j < g.out[2]; ++j) {
        const A by =
            divisor.value != 0
                ? static_cast<A>(divisor.value)
                : static_cast<A>(high * g.Counted(2, j, divisor.exclusive));
        *out++ = T(sums[j] / by);
      }
    }
  }
}

// The sum of n elements, by lanes.
template <typename A, int kLanes, typename T>
inline A SumLanes(const T* x, int64_t n) {
  A lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<A>(x[i + l]);
  // The last lanes of the run, of which those before i are taken already.
  const int64_t last = n - kLanes;
  for (int64_t l = 0; l < kLanes; ++l)
    lanes[l] += last + l < i ? A(0) : static_cast<A>(x[last + l]);
  // A copy, which is indexed by variables, so that `lanes` stays in registers.
  A rest[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) rest[l] = lanes[l];
#pragma GCC unroll 8
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t l = 0; l < half; ++l) rest[l] += rest[l + half];
  return rest[0];
}

template <typename A, typename T>
inline A SumRun(const T* x, int64_t n) {
  if (n >= 32) return SumLanes<A, 32>(x, n);
  if (n >= 8) return SumLanes<A, 8>(x, n);
  A sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<A>(x[i]);
  return sum;
}

// Of one image [depth, height, width], windows of any sizes: the rows that an
// output row sees are added up column by column, then columns; or as they lie,
// if windows are as wide as the image.
template <typename T, typename A>
void MeanWindows(const PoolGeometry& g, const PoolDivisor& divisor, const T* x,
                 T* out) {
  const int64_t width = g.in[2];
  std::vector<A> columns;
  for (int64_t k = 0; k < g.out[0]; ++k) {
    Span planes, rows, at;
    g.Range(0, k, &planes.begin, &planes.end);
    const int64_t deep = g.Counted(0, k, divisor.exclusive);
    for (int64_t i = 0; i < g.out[1]; ++i) {
      g.Range(1, i, &rows.begin, &rows.end);
      const int64_t high = deep * g.Counted(1, i, divisor.exclusive);
      g.Range(2, 0, &at.begin, &at.end);
      const bool whole = g.out[2] == 1 && at.begin == 0 && at.end == width;
      // Columns of one row are the row itself.
      const bool one =
          planes.end - planes.begin == 1 && rows.end - rows.begin == 1;
      const T* const only =
          one ? x + (planes.begin * g.in[1] + rows.begin) * width : nullptr;
      if (!whole && !one) columns.assign(width, A(0));
      A sum = 0;
      for (int64_t p = planes.begin; p < planes.end; ++p) {
        const T* row = x + (p * g.in[1] + rows.begin) * width;
        if (one && !whole) break;
        if (whole) {
          sum += SumRun<A>(row,
                           std::max<int64_t>(rows.end - rows.begin, 0) * width);
          continue;
        }
        for (int64_t r = rows.begin; r < rows.end; ++r, row += width)
          for (int64_t c = 0; c < width; ++c)
            columns[c] += static_cast<A>(row[c]);
      }
      for (int64_t j = 0; j < g.out[2]; ++j) {
        if (!whole) {
          g.Range(2, j, &at.begin, &at.end);
          const int64_t n = std::max<int64_t>(at.end - at.begin, 0);
          sum = one ? SumRun<A>(only + at.begin, n)
                    : SumRun<A>(columns.data() + at.begin, n);
        }
        const A by =
            divisor.value != 0
                ? static_cast<A>(divisor.value)
                : static_cast<A>(high * g.Counted(2, j, divisor.exclusive));
        *out++ = T(sum / by);
      }
    }
  }
}

// Calls f(out_offset, window) for every output position of a block.
template <typename A, typename F>
void ForEachWindow(const PoolGeometry& g, const PoolBlock& b,
                   const PoolDivisor& divisor, F&& f) {
  Extent<A> e;
  const auto range = [&](int d, int64_t i) {
    g.Range(d, i, &e.at[d].begin, &e.at[d].end);
    return g.Counted(d, i, divisor.exclusive);
  };
  for (int64_t k = 0; k < g.out[0]; ++k) {
    const int64_t deep = range(0, k);
    for (int64_t i = 0; i < g.out[1]; ++i) {
      const int64_t high = deep * range(1, i);
      const int64_t row = b.out_start + k * b.out_step[0] + i * b.out_step[1];
      for (int64_t j = 0; j < g.out[2]; ++j) {
        const int64_t count = high * range(2, j);
        e.divisor = divisor.value != 0 ? static_cast<A>(divisor.value)
                                       : static_cast<A>(count);
        f(row + j * b.out_step[2], e);
      }
    }
  }
}

// Calls f(in_offset), from the start of the block, for every element of a
// window.
template <typename A, typename F>
inline void ForEachElement(const PoolBlock& b, const Extent<A>& e, F&& f) {
  for (int64_t p = e.at[0].begin; p < e.at[0].end; ++p)
    for (int64_t r = e.at[1].begin; r < e.at[1].end; ++r)
      for (int64_t q = e.at[2].begin; q < e.at[2].end; ++q)
        f(p * b.in_step[0] + r * b.in_step[1] + q * b.in_step[2]);
}

template <typename T>
void Mean(const PoolGeometry& g, const PoolBlock& b, const PoolDivisor& divisor,
          const void* x_data, void* out_data) {
  using A = typename Accumulate<T>::type;
  const T* x = static_cast<const T*>(x_data) + b.in_start;
  T* out = static_cast<T*>(out_data);
  if (!g.channels_last()) {
    const auto mean = g.ByTaps(2) ? MeanPlane<T, A> : MeanWindows<T, A>;
    return mean(g, divisor, x, out + b.out_start);
  }
  ForEachWindow<A>(g, b, divisor, [&](int64_t o, const Extent<A>& e) {
    A sums[kPoolChannelBlock] = {};
    ForEachElement(b, e, [&](int64_t at) {
      for (int64_t c = 0; c < b.channels; ++c)
        sums[c] += static_cast<A>(x[at + c]);
    });
    for (int64_t c = 0; c < b.channels; ++c)
      out[o + c] = T(sums[c] / e.divisor);
  });
}

template <typename T>
void ImageMeans(const void* x, int64_t images, int64_t n, void* out) {
  using A = typename Accumulate<T>::type;
  const T* from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(out);
  for (int64_t i = 0; i < images; ++i, from += n)
    to[i] = T(SumRun<A>(from, n) / static_cast<A>(n));
}

template <typename T>
void MeanGrad(const PoolGeometry& g, const PoolRows& rows,
              const PoolDivisor& divisor, const void* grad_data,
              void* x_grad_data) {
  MeanPoolGradient<T> gradient(g, rows, divisor);
  const T* grad_out = static_cast<const T*>(grad_data) + rows.out_start;
  T* x_grad = static_cast<T*>(x_grad_data) + rows.in_start;
  for (int64_t i = 0; i < rows.images; ++i) {
    gradient.Run(grad_out, x_grad);
    grad_out += g.out_pixels() * rows.channels;
    x_grad += g.in_pixels() * rows.channels;
  }
}

template <typename T>
constexpr PoolLoops LoopsOf() {
  return {Mean<T>, ImageMeans<T>, MeanGrad<T>};
}

}  // namespace

PoolLoops PoolLoopsFor(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return LoopsOf<float16>();
    case DType::kBFloat16:
      return LoopsOf<bfloat16>();
    case DType::kFloat32:
      return LoopsOf<float>();
    default:
      return LoopsOf<double>();
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
