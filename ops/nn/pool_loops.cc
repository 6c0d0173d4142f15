// Compiled once for each instruction set (bazel/isa.bzl). Taps go outermost and
// neighbouring outputs (or channels) innermost, so that the loops vectorize.
#include "ops/nn/pool_loops.h"

#include <algorithm>
#include <vector>

#include "ops/nn/float_copy.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// The window of one output position, in input rows and columns.
struct Extent {
  int64_t top, bottom, left, right;
};

template <typename A>
inline bool Replaces(A v, A best) {
  return (v > best) | ((v != v) & (best == best));
}

// best[j] = max(best[j], x[j * kStride]), and where it is unless `at` is null;
// kStride 0: `stride`.
template <typename T, typename A, int kStride>
void MaxTap(const T* __restrict x, int64_t stride, int64_t n, int32_t place,
            A* __restrict best, int32_t* __restrict at) {
  const int64_t step = kStride > 0 ? kStride : stride;
  if (at == nullptr) {
    for (int64_t j = 0; j < n; ++j) {
      const A v = static_cast<A>(x[j * step]);
      best[j] = Replaces(v, best[j]) ? v : best[j];
    }
    return;
  }
  for (int64_t j = 0; j < n; ++j) {
    const A v = static_cast<A>(x[j * step]);
    const bool take = Replaces(v, best[j]);
    best[j] = take ? v : best[j];
    at[j] = take ? place + static_cast<int32_t>(j * step) : at[j];
  }
}
template <typename T, typename A, int kStride>
void SumTap(const T* __restrict x, int64_t stride, int64_t n,
            A* __restrict sums) {
  const int64_t step = kStride > 0 ? kStride : stride;
  for (int64_t j = 0; j < n; ++j) sums[j] += static_cast<A>(x[j * step]);
}

// The outputs [first, last) of a row for which tap q of the kernel is inside.
void OutputsOfTap(const PoolGeometry& g, int64_t q, int64_t* first,
                  int64_t* last) {
  const int64_t s = g.window.stride[1], shift = g.window.pad_before[1] - q;
  *first = shift > 0 ? (shift + s - 1) / s : 0;
  const int64_t end = g.in[1] + shift;  // j * s < end
  *last = end <= 0 ? 0 : std::min(g.out[1], (end + s - 1) / s);
}

// Of one plane [height, width].
template <typename T, typename A>
void MaxPlane(const PoolGeometry& g, const T* x, T* out, int32_t* indices) {
  std::vector<A> best(g.out[1]);
  std::vector<int32_t> at(g.out[1]);
  const int64_t s = g.window.stride[1], width = g.in[1];
  for (int64_t i = 0; i < g.out[0]; ++i) {
    int64_t top, bottom, left, right;
    g.Range(0, i, &top, &bottom);
    for (int64_t j = 0; j < g.out[1]; ++j) {
      g.Range(1, j, &left, &right);
      best[j] = static_cast<A>(x[top * width + left]);
      at[j] = static_cast<int32_t>(top * width + left);
    }
    for (int64_t r = top; r < bottom; ++r) {
      for (int64_t q = 0; q < g.window.kernel[1]; ++q) {
        int64_t first, last;
        OutputsOfTap(g, q, &first, &last);
        if (first >= last) continue;
        const int64_t place =
            r * width + first * s - g.window.pad_before[1] + q;
        const auto tap = s == 1   ? MaxTap<T, A, 1>
                         : s == 2 ? MaxTap<T, A, 2>
                                  : MaxTap<T, A, 0>;
        tap(x + place, s, last - first, static_cast<int32_t>(place),
            best.data() + first,
            indices != nullptr ? at.data() + first : nullptr);
      }
    }
    for (int64_t j = 0; j < g.out[1]; ++j) out[i * g.out[1] + j] = T(best[j]);
    if (indices != nullptr)
      std::copy_n(at.data(), g.out[1], indices + i * g.out[1]);
  }
}

template <typename T, typename A>
void MeanPlane(const PoolGeometry& g, bool exclusive, const T* x, T* out) {
  std::vector<A> sums(g.out[1]);
  const int64_t s = g.window.stride[1];
  for (int64_t i = 0; i < g.out[0]; ++i) {
    int64_t top, bottom, left, right;
    g.Range(0, i, &top, &bottom);
    std::fill(sums.begin(), sums.end(), A(0));
    for (int64_t r = top; r < bottom; ++r) {
      for (int64_t q = 0; q < g.window.kernel[1]; ++q) {
        int64_t first, last;
        OutputsOfTap(g, q, &first, &last);
        if (first >= last) continue;
        const auto tap = s == 1   ? SumTap<T, A, 1>
                         : s == 2 ? SumTap<T, A, 2>
                                  : SumTap<T, A, 0>;
        tap(x + r * g.in[1] + first * s - g.window.pad_before[1] + q, s,
            last - first, sums.data() + first);
      }
    }
    for (int64_t j = 0; j < g.out[1]; ++j) {
      g.Range(1, j, &left, &right);
      out[i * g.out[1] + j] =
          T(sums[j] / static_cast<A>(PoolDivisor(g, bottom - top, right - left,
                                                 exclusive)));
    }
  }
}

// Calls f(out_offset, window) for every output position of a block.
template <typename F>
void ForEachWindow(const PoolGeometry& g, const PoolBlock& b, F&& f) {
  for (int64_t i = 0; i < g.out[0]; ++i) {
    Extent e;
    g.Range(0, i, &e.top, &e.bottom);
    for (int64_t j = 0; j < g.out[1]; ++j) {
      g.Range(1, j, &e.left, &e.right);
      f(b.out_start + i * b.out_row + j * b.out_column, e);
    }
  }
}

// Windows over dense channels: kChannels of them, or b.channels if it is 0.
template <typename T, typename A, int64_t kChannels>
void MaxOfWindows(const PoolGeometry& g, const PoolBlock& b, const T* x,
                  T* out) {
  const int64_t n = kChannels > 0 ? kChannels : b.channels;
  ForEachWindow(g, b, [&](int64_t o, const Extent& e) {
    A best[kPoolChannelBlock];
    const T* first = x + e.top * b.in_row + e.left * b.in_column;
    for (int64_t c = 0; c < n; ++c) best[c] = static_cast<A>(first[c]);
    for (int64_t r = e.top; r < e.bottom; ++r) {
      for (int64_t q = e.left; q < e.right; ++q) {
        const T* p = x + r * b.in_row + q * b.in_column;
        for (int64_t c = 0; c < n; ++c) {
          const A v = static_cast<A>(p[c]);
          best[c] = Replaces(v, best[c]) ? v : best[c];
        }
      }
    }
    for (int64_t c = 0; c < n; ++c) out[o + c] = T(best[c]);
  });
}

// The maxima of a window, and the first places that have them.
template <typename T, typename A>
__attribute__((always_inline)) inline void FindMaxima(
    const PoolGeometry& g, const PoolBlock& b, const Extent& e, const T* x,
    int64_t n, A* __restrict best, int32_t* __restrict at) {
  const T* first = x + e.top * b.in_row + e.left * b.in_column;
  for (int64_t c = 0; c < n; ++c) {
    best[c] = static_cast<A>(first[c]);
    at[c] = static_cast<int32_t>(e.top * g.in[1] + e.left);
  }
  for (int64_t r = e.top; r < e.bottom; ++r) {
    for (int64_t q = e.left; q < e.right; ++q) {
      const T* p = x + r * b.in_row + q * b.in_column;
      const int32_t place = static_cast<int32_t>(r * g.in[1] + q);
      for (int64_t c = 0; c < n; ++c) {
        const A v = static_cast<A>(p[c]);
        const bool take = Replaces(v, best[c]);
        best[c] = take ? v : best[c];
        at[c] = take ? place : at[c];
      }
    }
  }
}

template <typename T, typename A, int64_t kChannels>
void MaxWithPlaces(const PoolGeometry& g, const PoolBlock& b, const T* x,
                   T* out, int32_t* indices) {
  const int64_t n = kChannels > 0 ? kChannels : b.channels;
  ForEachWindow(g, b, [&](int64_t o, const Extent& e) {
    A best[kPoolChannelBlock];
    int32_t at[kPoolChannelBlock];
    FindMaxima<T, A>(g, b, e, x, n, best, at);
    for (int64_t c = 0; c < n; ++c) out[o + c] = T(best[c]);
    std::copy_n(at, n, indices + o);
  });
}

// x_grad[place of the maximum] += grad_out, window by window. Each tap looks
// whether it is that place, since stores to places of their own, one for each
// channel, are no vectors.
template <typename T, typename A, int64_t kChannels>
void MaxGradOfWindows(const PoolGeometry& g, const PoolBlock& b,
                      const T* grad_out, const T* x, T* x_grad) {
  const int64_t n = kChannels > 0 ? kChannels : b.channels;
  ForEachWindow(g, b, [&](int64_t o, const Extent& e) {
    A best[kPoolChannelBlock];
    int32_t at[kPoolChannelBlock];
    FindMaxima<T, A>(g, b, e, x, n, best, at);
    const T* __restrict grad = grad_out + o;
    for (int64_t r = e.top; r < e.bottom; ++r) {
      for (int64_t q = e.left; q < e.right; ++q) {
        T* __restrict p = x_grad + r * b.in_row + q * b.in_column;
        const int32_t place = static_cast<int32_t>(r * g.in[1] + q);
        for (int64_t c = 0; c < n; ++c) {
          const A sum = static_cast<A>(p[c]) + static_cast<A>(grad[c]);
          p[c] = at[c] == place ? T(sum) : p[c];
        }
      }
    }
  });
}

template <typename T>
void Max(const PoolGeometry& g, const PoolBlock& b, const void* x_data,
         void* out_data, int32_t* indices) {
  using A = typename Accumulate<T>::type;
  const T* x = static_cast<const T*>(x_data) + b.in_start;
  T* out = static_cast<T*>(out_data);
  if (!g.channels_last && !g.adaptive) {
    return MaxPlane<T, A>(g, x, out + b.out_start,
                          indices != nullptr ? indices + b.out_start : nullptr);
  }
  const bool whole = b.channels == kPoolChannelBlock;
  if (indices == nullptr) {
    if (whole) return MaxOfWindows<T, A, kPoolChannelBlock>(g, b, x, out);
    return MaxOfWindows<T, A, 0>(g, b, x, out);
  }
  if (whole)
    return MaxWithPlaces<T, A, kPoolChannelBlock>(g, b, x, out, indices);
  MaxWithPlaces<T, A, 0>(g, b, x, out, indices);
}

template <typename T>
void MaxGrad(const PoolGeometry& g, const PoolBlock& b, const void* grad_out,
             const void* x_data, void* x_grad) {
  using A = typename Accumulate<T>::type;
  const T* const grad = static_cast<const T*>(grad_out);
  const T* const x = static_cast<const T*>(x_data) + b.in_start;
  T* const to = static_cast<T*>(x_grad) + b.in_start;
  if (b.channels == kPoolChannelBlock)
    return MaxGradOfWindows<T, A, kPoolChannelBlock>(g, b, grad, x, to);
  MaxGradOfWindows<T, A, 0>(g, b, grad, x, to);
}

template <typename T>
void Mean(const PoolGeometry& g, const PoolBlock& b, bool exclusive,
          const void* x_data, void* out_data) {
  using A = typename Accumulate<T>::type;
  const T* x = static_cast<const T*>(x_data) + b.in_start;
  T* out = static_cast<T*>(out_data);
  if (!g.channels_last && !g.adaptive)
    return MeanPlane<T, A>(g, exclusive, x, out + b.out_start);
  ForEachWindow(g, b, [&](int64_t o, const Extent& e) {
    A sums[kPoolChannelBlock] = {};
    for (int64_t r = e.top; r < e.bottom; ++r) {
      for (int64_t q = e.left; q < e.right; ++q) {
        const T* p = x + r * b.in_row + q * b.in_column;
        for (int64_t c = 0; c < b.channels; ++c)
          sums[c] += static_cast<A>(p[c]);
      }
    }
    const A divisor = static_cast<A>(
        PoolDivisor(g, e.bottom - e.top, e.right - e.left, exclusive));
    for (int64_t c = 0; c < b.channels; ++c) out[o + c] = T(sums[c] / divisor);
  });
}

}  // namespace

PoolLoops PoolLoopsFor(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {Max<float16>, MaxGrad<float16>, Mean<float16>};
    case DType::kBFloat16:
      return {Max<bfloat16>, MaxGrad<bfloat16>, Mean<bfloat16>};
    case DType::kFloat32:
      return {Max<float>, MaxGrad<float>, Mean<float>};
    default:
      return {Max<double>, MaxGrad<double>, Mean<double>};
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
