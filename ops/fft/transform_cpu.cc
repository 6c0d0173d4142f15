// Kernels of Fourier transforms over several axes: one axis after another,
// lines in parallel.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

#include "ops/fft/line_transform.h"
#include "ops/fft/transform_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

template <typename T>
using Transform = fft::LineTransform<T>;

// Points of lines that are worth a thread of their own.
constexpr int64_t kGrain = 16384;
// Lines that are gathered together: a cache line of neighbours, so that long
// ones do not take too much memory.
constexpr int64_t kFewLines = 8;
constexpr int64_t kLongLine = 4096;

template <typename E>
using Lines = std::vector<E*>;

// Asks memory for n elements from `at` on, unless they are many, which may lie
// behind the end.
template <typename E>
void AskFor(const E* at, int64_t n) {
  constexpr int64_t kMost = 1 << 15;  // bytes
  const int64_t bytes = n * static_cast<int64_t>(sizeof(E));
  for (int64_t i = 0; bytes <= kMost && i < bytes; i += 64)
    __builtin_prefetch(reinterpret_cast<const char*>(at) + i);
}

// The lines of a tensor along `axis`: `inner` of them side by side.
struct Axis {
  int64_t n, outer = 1, inner = 1;

  Axis(const Shape& shape, int axis) : n(shape[axis]) {
    for (int d = 0; d < axis; ++d) outer *= shape[d];
    for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
};

// Calls f(in_block, out_block) for blocks of all lines of `in` along an axis,
// n_in elements in and n_out elements out; `out` may be `in`. `columns` says
// whether f takes columns. What is a block does not depend on the threads.
template <typename In, typename Out, typename F>
void ForEachBlock(const Axis& axis, int64_t n_out, int64_t lanes, bool columns,
                  const In* in, Out* out, const F& f) {
  using fft::LineBlock;
  const int64_t n_in = axis.n, inner = axis.inner;
  const int64_t points = std::max(n_in, n_out);
  if (columns && 2 * inner > lanes) {
    const int64_t blocks = (inner + lanes - 1) / lanes;
    parallel_for(0, axis.outer * blocks, 1 + kGrain / (points * lanes),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t b = begin; b < end; ++b) {
                     const int64_t o = b / blocks, i = b % blocks * lanes;
                     const int64_t count = std::min(lanes, inner - i);
                     f(LineBlock<const In>{.columns = in + o * n_in * inner + i,
                                           .row = inner,
                                           .count = count},
                       LineBlock<Out>{.columns = out + o * n_out * inner + i,
                                      .row = inner,
                                      .count = count});
                   }
                 });
    return;
  }
  const int64_t all = axis.outer * inner;
  const int64_t together =
      inner > 1 && points > kLongLine ? std::min(lanes, kFewLines) : lanes;
  parallel_for(
      0, (all + together - 1) / together, 1 + kGrain / (points * together),
      [&](int64_t begin, int64_t end) {
        std::vector<In> from(inner > 1 ? n_in * together : 0);
        std::vector<Out> to(inner > 1 ? n_out * together : 0);
        Lines<const In> starts(together);
        Lines<Out> results(together);
        for (int64_t b = begin; b < end; ++b) {
          const int64_t first = b * together;
          const int64_t count = std::min(together, all - first);
          for (int64_t l = 0; l < count; ++l) {
            const bool dense = inner == 1;
            starts[l] =
                dense ? in + (first + l) * n_in : from.data() + l * n_in;
            results[l] =
                dense ? out + (first + l) * n_out : to.data() + l * n_out;
          }
          const auto at = [&](int64_t l, int64_t n) {
            const int64_t line = first + l;
            return line / inner * n * inner + line % inner;
          };
          // Lines that lie behind each other are read side by side, where
          // hardware does not see them follow.
          if (inner == 1)
            AskFor(in + (first + together) * n_in, together * n_in);
          if (inner > 1) {
            for (int64_t k = 0; k < n_in; ++k) {
              for (int64_t l = 0; l < count; ++l)
                from[l * n_in + k] = in[at(l, n_in) + k * inner];
            }
          }
          f(LineBlock<const In>{.lines = starts.data(), .count = count},
            LineBlock<Out>{.lines = results.data(), .count = count});
          if (inner == 1) continue;
          for (int64_t k = 0; k < n_out; ++k) {
            for (int64_t l = 0; l < count; ++l)
              out[at(l, n_out) + k * inner] = to[l * n_out + k];
          }
        }
      });
}

// What results are multiplied by; `signal` is the shape of the points.
double FactorOf(const Shape& signal, std::span<const int64_t> axes,
                std::string_view normalization) {
  double points = 1;
  for (const int64_t a : axes)
    points *= static_cast<double>(signal[a < 0 ? a + signal.rank() : a]);
  if (normalization == "by_n") return 1 / points;
  return normalization == "by_sqrt_n" ? 1 / std::sqrt(points) : 1;
}

int AxisOf(const Tensor& t, int64_t axis) {
  return static_cast<int>(axis < 0 ? axis + t.rank() : axis);
}

void CheckPoints(const char* op, int64_t n) {
  PROA_REQUIRE(n <= fft::kMaxPoints, op, ": a transform of ", n,
               " points; at most ", fft::kMaxPoints, " are supported");
}

// Over `axes` of x, whose results go to `out`; the last one is multiplied by
// `factor`. Without axes x is copied.
template <typename T>
void ComplexAxes(const Shape& shape, std::span<const int64_t> axes,
                 bool forward, T factor, const std::complex<T>* x,
                 std::complex<T>* out) {
  if (axes.empty()) {
    std::transform(x, x + shape.numel(), out,
                   [&](std::complex<T> v) { return v * factor; });
    return;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis =
        static_cast<int>(axes[i] < 0 ? axes[i] + shape.rank() : axes[i]);
    const int64_t n = shape[axis];
    CheckPoints("fft_c2c", n);
    const T times = i + 1 == axes.size() ? factor : T(1);
    ForEachBlock(Axis(shape, axis), n, Transform<T>::Lanes(),
                 Transform<T>::TakesColumns(n, false), i == 0 ? x : out, out,
                 [&](const auto& from, const auto& to) {
                   Transform<T>::OfThread().Complex(from, to, n, forward,
                                                    times);
                 });
  }
}

// Calls f with the real type of a float or complex tensor.
template <typename F>
void VisitReal(DType dtype, F&& f) {
  if (dtype == DType::kFloat32 || dtype == DType::kComplex64) {
    f(float{});
  } else {
    f(double{});
  }
}

}  // namespace

void FftComplex(const KernelContext&, const Tensor& x,
                std::span<const int64_t> axes, std::string_view normalization,
                bool forward, Tensor* out) {
  if (x.numel() == 0) return;
  const double factor = FactorOf(x.shape(), axes, normalization);
  VisitReal(x.dtype(), [&]<typename T>(T) {
    using C = std::complex<T>;
    ComplexAxes(x.shape(), axes, forward, static_cast<T>(factor), x.data<C>(),
                out->data<C>());
  });
}

void FftRealToHalf(const KernelContext&, const Tensor& x,
                   std::span<const int64_t> axes,
                   std::string_view normalization, bool forward, Tensor* out) {
  if (x.numel() == 0) return;
  const double factor = FactorOf(x.shape(), axes, normalization);
  const int last = AxisOf(x, axes.back());
  const int64_t n = x.size(last);
  CheckPoints("fft_r2c", n);
  VisitReal(x.dtype(), [&]<typename T>(T) {
    using C = std::complex<T>;
    ForEachBlock(Axis(x.shape(), last), n / 2 + 1, Transform<T>::Lanes(),
                 Transform<T>::TakesColumns(n, true), x.data<T>(),
                 out->data<C>(), [&](const auto& from, const auto& to) {
                   Transform<T>::OfThread().RealToHalf(from, to, n, forward,
                                                       static_cast<T>(factor));
                 });
    const auto others = axes.first(axes.size() - 1);
    if (others.empty()) return;
    ComplexAxes(out->shape(), others, forward, T(1), out->data<C>(),
                out->data<C>());
  });
}

void FftHalfToReal(const KernelContext&, const Tensor& x,
                   std::span<const int64_t> axes, const IntArray&,
                   std::string_view normalization, bool forward, Tensor* out) {
  if (out->numel() == 0) return;
  const double factor = FactorOf(out->shape(), axes, normalization);
  const int last = AxisOf(x, axes.back());
  const int64_t n = out->size(last);
  CheckPoints("fft_c2r", n);
  VisitReal(x.dtype(), [&]<typename T>(T) {
    using C = std::complex<T>;
    const auto others = axes.first(axes.size() - 1);
    std::vector<C> buffer;
    const C* half = x.data<C>();
    if (!others.empty()) {
      buffer.resize(x.numel());
      ComplexAxes(x.shape(), others, forward, T(1), half, buffer.data());
      half = buffer.data();
    }
    ForEachBlock(Axis(x.shape(), last), n, Transform<T>::Lanes(),
                 Transform<T>::TakesColumns(n, true), half, out->data<T>(),
                 [&](const auto& from, const auto& to) {
                   Transform<T>::OfThread().HalfToReal(from, to, n, forward,
                                                       static_cast<T>(factor));
                 });
  });
}

void FftInterior(const KernelContext&, const Tensor& x, const IntArray& signal,
                 std::span<const int64_t> axes, double factor, Tensor* out) {
  const int last = AxisOf(x, axes.back());
  const int64_t n = signal[last], m = x.size(last);
  int64_t inner = 1;
  for (int d = last + 1; d < x.rank(); ++d) inner *= x.size(d);
  VisitReal(x.dtype(), [&]<typename T>(T) {
    using C = std::complex<T>;
    const C* from = x.data<C>();
    C* to = out->data<C>();
    const auto scale = static_cast<T>(factor);
    parallel_for(0, x.numel() / std::max<int64_t>(inner, 1),
                 1 + 16384 / (inner + 1), [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t k = i % m;
                     const bool alone = k == 0 || 2 * k == n;
                     for (int64_t l = i * inner; l < (i + 1) * inner; ++l)
                       to[l] = alone ? from[l] : from[l] * scale;
                   }
                 });
  });
}

}  // namespace proa::inline v0::ops::cpu
