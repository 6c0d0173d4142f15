// Kernels of frames. Every element of a result is made by one thread, sums in
// the order of the frames.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ops/signal/frames_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kGrain = 16384;

// A signal [outer, samples, inner] and its frames: [outer, length, count] where
// inner is 1, or [count, length, inner] where outer is.
struct Geometry {
  int64_t outer = 1, inner = 1, samples = 0, length = 0, count = 0, hop = 1;
  bool first = false;

  // The place of a sample's element and of a frame's.
  int64_t Sample(int64_t o, int64_t s, int64_t k) const {
    return (o * samples + s) * inner + k;
  }
  int64_t Frame(int64_t o, int64_t t, int64_t i, int64_t k) const {
    return first ? (t * length + i) * inner + k : (o * length + i) * count + t;
  }
};

Geometry GeometryOf(const Shape& signal, const Shape& frames, int64_t hop,
                    int64_t axis) {
  Geometry g;
  g.hop = hop;
  g.first = axis == 0;
  const int last = signal.rank() - 1;
  g.samples = signal[g.first ? 0 : last];
  for (int i = 0; i < signal.rank(); ++i) {
    if (g.first && i > 0) g.inner *= signal[i];
    if (!g.first && i < last) g.outer *= signal[i];
  }
  g.length = frames[g.first ? 1 : frames.rank() - 2];
  g.count = frames[g.first ? 0 : frames.rank() - 1];
  return g;
}

void Take(const Geometry& g, const Tensor& x, Tensor* out) {
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* from = x.data<T>();
    T* to = out->data<T>();
    if (g.first) {
      parallel_for(0, g.count, kGrain / (g.length * g.inner + 1) + 1,
                   [&](int64_t b, int64_t e) {
                     for (int64_t t = b; t < e; ++t) {
                       std::copy_n(from + t * g.hop * g.inner,
                                   g.length * g.inner,
                                   to + t * g.length * g.inner);
                     }
                   });
      return;
    }
    parallel_for(0, g.outer * g.length, kGrain / (g.count + 1) + 1,
                 [&](int64_t b, int64_t e) {
                   for (int64_t r = b; r < e; ++r) {
                     const T* row =
                         from + r / g.length * g.samples + r % g.length;
                     for (int64_t t = 0; t < g.count; ++t) {
                       to[r * g.count + t] = row[t * g.hop];
                     }
                   }
                 });
  });
}

// Integers wrap; 16-bit floats are added up in float.
template <typename T>
struct SumOf {
  using Type = T;
};
template <typename T>
requires std::is_integral_v<T>
struct SumOf<T> {
  using Type = uint64_t;
};
template <>
struct SumOf<float16> {
  using Type = float;
};
template <>
struct SumOf<bfloat16> {
  using Type = float;
};

void Add(const Geometry& g, const Tensor& x, Tensor* out) {
  VisitDType(x.dtype(), [&]<typename T>(TypeTag<T>) {
    using Sum = typename SumOf<T>::Type;
    const T* from = x.data<T>();
    T* to = out->data<T>();
    const int64_t terms = g.length / g.hop + 1;
    parallel_for(
        0, g.outer * g.samples, kGrain / (g.inner * terms + 1) + 1,
        [&](int64_t b, int64_t e) {
          for (int64_t r = b; r < e; ++r) {
            const int64_t o = r / g.samples, s = r % g.samples;
            // Frames t with 0 <= s - t * hop < length.
            const int64_t begin = s < g.length ? 0 : (s - g.length) / g.hop + 1;
            const int64_t end = std::min(g.count, s / g.hop + 1);
            for (int64_t k = 0; k < g.inner; ++k) {
              Sum sum = Sum(0);
              for (int64_t t = begin; t < end; ++t) {
                sum += static_cast<Sum>(from[g.Frame(o, t, s - t * g.hop, k)]);
              }
              to[g.Sample(o, s, k)] = static_cast<T>(sum);
            }
          }
        });
  });
}

}  // namespace

void Frame(const KernelContext&, const Tensor& x, int64_t, int64_t hop_length,
           int64_t axis, Tensor* out) {
  Take(GeometryOf(x.shape(), out->shape(), hop_length, axis), x, out);
}

void FramesOf(const KernelContext&, const Tensor& x, const IntArray&,
              int64_t hop_length, int64_t axis, Tensor* out) {
  Take(GeometryOf(x.shape(), out->shape(), hop_length, axis), x, out);
}

void OverlapAdd(const KernelContext&, const Tensor& x, int64_t hop_length,
                int64_t axis, Tensor* out) {
  Add(GeometryOf(out->shape(), x.shape(), hop_length, axis), x, out);
}

void OverlapInto(const KernelContext&, const Tensor& x, const IntArray&,
                 int64_t hop_length, int64_t axis, Tensor* out) {
  Add(GeometryOf(out->shape(), x.shape(), hop_length, axis), x, out);
}

void WindowEnvelope(const KernelContext&, const Tensor& x, Tensor* out) {
  const auto copy = [&]<typename T>(T) {
    const T* from = x.data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      PROA_REQUIRE(!(std::fabs(from[i]) < T(1e-11)),
                   "istft: the window adds up to ", from[i], " at sample ", i,
                   ", where the signal is lost; take a longer window or a "
                   "shorter hop_length; the sums are ",
                   Describe(x));
      out->data<T>()[i] = from[i];
    }
  };
  if (x.dtype() == DType::kFloat64) {
    copy(double{});
  } else {
    copy(float{});
  }
}

}  // namespace proa::inline v0::ops::cpu
