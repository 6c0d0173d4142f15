// Kernels of running.yaml: lines that lie side by side are walked together, in
// strips whose state stays in the first cache.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"
#include "ops/reduction/load.h"
#include "ops/reduction/running_kernels.h"
#include "ops/reduction/scan_lines.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

constexpr int64_t kStrip = 512;

// Calls strip(first, width) for strips of neighbouring lines, whose first
// elements are `first` and those behind it. `cost` of an element, where 1 is an
// addition.
template <class F>
void ForEachStrip(const ScanLines& a, int64_t cost, F&& strip) {
  if (a.n == 0 || a.outer * a.inner == 0) return;
  const int64_t strips = (a.inner + kStrip - 1) / kStrip;
  const int64_t work = cost * a.n * std::min(a.inner, kStrip);
  parallel_for(0, a.outer * strips, std::max<int64_t>(1, kSerialCost / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k) {
                   const int64_t column = k % strips * kStrip;
                   strip(k / strips * a.n * a.inner + column,
                         std::min(kStrip, a.inner - column));
                 }
               });
}

// NaN is before all numbers, and what comes later before what is equal.
template <bool kLargest, class T>
PROA_HD bool Replaces(T kept, T element) {
  return element != element ||
         (kept == kept && !(kLargest ? element < kept : element > kept));
}

template <bool kLargest, class T, class I>
void ExtremaOfStrip(const T* in, T* out, I* places, int64_t n, int64_t inner,
                    int64_t width) {
  T kept[kStrip];
  I at[kStrip];
  std::copy_n(in, width, kept);
  std::fill_n(at, width, I(0));
  for (int64_t i = 0; i < n; ++i) {
    const T* row = in + i * inner;
    const I here = static_cast<I>(i);
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) {
      const bool replaces = Replaces<kLargest>(kept[j], row[j]);
      kept[j] = replaces ? row[j] : kept[j];
      at[j] = replaces ? here : at[j];
    }
    std::copy_n(kept, width, out + i * inner);
    std::copy_n(at, width, places + i * inner);
  }
}

template <bool kLargest, class T, class I>
void ExtremaOfLine(const T* in, T* out, I* places, int64_t n) {
  T kept = in[0];
  I at = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool replaces = Replaces<kLargest>(kept, in[i]);
    kept = replaces ? in[i] : kept;
    at = replaces ? static_cast<I>(i) : at;
    out[i] = kept;
    places[i] = at;
  }
}

template <bool kLargest>
void Extrema(const Tensor& x, std::optional<int64_t> axis, Tensor* out,
             Tensor* indices) {
  const ScanLines a(x, axis);
  const auto run = [&]<class T, class I>(T, I) {
    const T* from = x.data<T>();
    ForEachStrip(a, 2, [&](int64_t first, int64_t width) {
      T* const to = out->data<T>() + first;
      I* const places = indices->data<I>() + first;
      if (a.inner == 1) {
        ExtremaOfLine<kLargest>(from + first, to, places, a.n);
      } else {
        ExtremaOfStrip<kLargest>(from + first, to, places, a.n, a.inner, width);
      }
    });
  };
  VisitDType(x.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (!IsComplex(kDTypeOf<T>)) {
      if (indices->dtype() == DType::kInt32) {
        run(T(), int32_t());
      } else {
        run(T(), int64_t());
      }
    }
  });
}

PROA_HD float ExpOf(float x) { return vmath::Exp(x); }
PROA_HD double ExpOf(double x) { return vmath::Exp(x); }
PROA_HD float LogOf(float x) { return vmath::Log(x); }
PROA_HD double LogOf(double x) { return vmath::Log(x); }

// e^(a - b), and 1 of infinities that are equal.
template <class A>
PROA_HD A Ratio(A a, A b) {
  const A e = ExpOf(a - b);
  return a == b ? A(1) : e;
}

// Sums are measured from the largest element so far. They are double: beside
// many elements one more would be lost in a float.
template <class A>
PROA_STRAIGHT_LINE void LogSumsOfStrip(const A* in, A* out, int64_t n,
                                       int64_t inner, int64_t width) {
  alignas(64) A largest[kStrip];
  alignas(64) double sum[kStrip];
  std::copy_n(in, width, largest);
  std::fill_n(sum, width, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    const A* const row = in + i * inner;
    A* const to = out + i * inner;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) {
      const A x = row[j], before = largest[j], top = x > before ? x : before;
      const double s = sum[j] * static_cast<double>(Ratio(before, top)) +
                       static_cast<double>(Ratio(x, top));
      largest[j] = top;
      sum[j] = s;
      to[j] = top + LogOf(static_cast<A>(s));
    }
  }
}

// running_softmax of a strip, from its beginning or, if kAfter, from its end.
template <bool kAfter, class A>
PROA_STRAIGHT_LINE void SoftmaxOfStrip(const A* x, const A* y,
                                       const A* log_sums, A* out, int64_t n,
                                       int64_t inner, int64_t width) {
  alignas(64) A sum[kStrip], before[kStrip];  // of log_sums
  std::fill_n(sum, width, A(0));
  const int64_t first = kAfter ? (n - 1) * inner : 0;
  std::copy_n(log_sums + first, width, before);
  for (int64_t i = 0, at = first; i < n; ++i, at += kAfter ? -inner : inner) {
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) {
      const A here = log_sums[at + j], of_this = Ratio(y[at + j], here);
      if constexpr (kAfter) {
        const A s = sum[j] * Ratio(here, before[j]) + x[at + j];
        sum[j] = s;
        out[at + j] = s * of_this;
      } else {
        const A s = sum[j] * Ratio(before[j], here) + x[at + j] * of_this;
        sum[j] = s;
        out[at + j] = s;
      }
      before[j] = here;
    }
  }
}

// Calls f with the type to compute in.
template <class F>
void VisitAccumulator(DType dtype, F&& f) {
  if (dtype == DType::kFloat64) {
    f(double());
  } else {
    f(float());
  }
}

// x as contiguous elements of the dtype, in `shape`.
Tensor As(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype && x.is_contiguous()) return x;
  const Tensor copy = Tensor::Empty(x.shape(), dtype);
  Load(x, copy);
  return copy;
}

}  // namespace

void Cummax(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            DType, Tensor* out, Tensor* indices) {
  Extrema<true>(x, axis, out, indices);
}

void Cummin(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            DType, Tensor* out, Tensor* indices) {
  Extrema<false>(x, axis, out, indices);
}

void Logcumsumexp(const KernelContext&, const Tensor& x,
                  std::optional<int64_t> axis, Tensor* out) {
  const ScanLines a(x, axis);
  VisitAccumulator(out->dtype(), [&]<class A>(A) {
    const Tensor in = As(x, kDTypeOf<A>);
    const bool direct = out->dtype() == kDTypeOf<A>;
    const Tensor to = direct ? *out : Tensor::Empty(out->shape(), kDTypeOf<A>);
    ForEachStrip(a, 24, [&](int64_t first, int64_t width) {
      LogSumsOfStrip(in.data<A>() + first, to.data<A>() + first, a.n, a.inner,
                     width);
    });
    if (!direct) Load(to, *out);
  });
}

void RunningSoftmax(const KernelContext&, const Tensor& x, const Tensor& y,
                    const Tensor& log_sums, int64_t axis, bool after,
                    Tensor* out) {
  const ScanLines a(x, axis);
  VisitAccumulator(out->dtype(), [&]<class A>(A) {
    const Tensor of_x = As(x, kDTypeOf<A>), of_y = As(y, kDTypeOf<A>),
                 of_sums = As(log_sums, kDTypeOf<A>);
    const bool direct = out->dtype() == kDTypeOf<A>;
    const Tensor to = direct ? *out : Tensor::Empty(out->shape(), kDTypeOf<A>);
    ForEachStrip(a, 20, [&](int64_t first, int64_t width) {
      const auto run =
          after ? &SoftmaxOfStrip<true, A> : &SoftmaxOfStrip<false, A>;
      run(of_x.data<A>() + first, of_y.data<A>() + first,
          of_sums.data<A>() + first, to.data<A>() + first, a.n, a.inner, width);
    });
    if (!direct) Load(to, *out);
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
