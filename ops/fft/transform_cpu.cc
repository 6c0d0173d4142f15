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

// Lines that lie side by side are read and written together, a cache line at a
// time.
constexpr int64_t kTogether = 8;

// Calls f(lane_in, lane_out) for each line of `in` along `axis`: dense copies
// of n_in elements in, n_out elements out, which are then multiplied by
// `factor` and stored. `out` may be `in`.
template <typename In, typename Out, typename Real, typename F>
void ForEachLine(const Shape& in_shape, int axis, int64_t n_out, const In* in,
                 Out* out, Real factor, const F& f) {
  const int64_t n_in = in_shape[axis];
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < axis; ++d) outer *= in_shape[d];
  for (int d = axis + 1; d < in_shape.rank(); ++d) inner *= in_shape[d];
  const int64_t blocks = (inner + kTogether - 1) / kTogether;
  const int64_t grain =
      1 + 4096 / (std::max(n_in, n_out) * std::min(inner, kTogether));
  parallel_for(0, outer * blocks, grain, [&](int64_t begin, int64_t end) {
    std::vector<In> lines(n_in * std::min(inner, kTogether));
    std::vector<Out> done(n_out * std::min(inner, kTogether));
    for (int64_t b = begin; b < end; ++b) {
      const int64_t o = b / blocks, i = b % blocks * kTogether;
      const int64_t count = std::min(kTogether, inner - i);
      const In* from = in + o * n_in * inner + i;
      for (int64_t k = 0; k < n_in; ++k) {
        for (int64_t l = 0; l < count; ++l)
          lines[l * n_in + k] = from[k * inner + l];
      }
      for (int64_t l = 0; l < count; ++l)
        f(lines.data() + l * n_in, done.data() + l * n_out);
      Out* to = out + o * n_out * inner + i;
      for (int64_t k = 0; k < n_out; ++k) {
        for (int64_t l = 0; l < count; ++l)
          to[k * inner + l] = done[l * n_out + k] * factor;
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
    ForEachLine(shape, axis, n, i == 0 ? x : out, out,
                i + 1 == axes.size() ? factor : T(1),
                [&](const std::complex<T>* line, std::complex<T>* done) {
                  fft::LineTransform<T>::OfThread().Complex(line, done, n,
                                                            forward);
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
    ForEachLine(x.shape(), last, n / 2 + 1, x.data<T>(), out->data<C>(),
                static_cast<T>(factor), [&](const T* line, C* done) {
                  fft::LineTransform<T>::OfThread().RealToHalf(line, done, n,
                                                               forward);
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
    ForEachLine(x.shape(), last, n, half, out->data<T>(),
                static_cast<T>(factor), [&](const C* line, T* done) {
                  fft::LineTransform<T>::OfThread().HalfToReal(line, done, n,
                                                               forward);
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
