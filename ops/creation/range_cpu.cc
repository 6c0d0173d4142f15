// Kernels of tensors whose elements follow from their index.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ops/creation/creation_infer.h"
#include "ops/creation/range_kernels.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kGrain = 16384;

// out[i] = T(f(i)); f gives a double, or an int64 where T is an integer type.
template <typename T, typename F>
void FillWith(Tensor* out, F f) {
  T* to = out->data<T>();
  parallel_for(0, out->numel(), kGrain, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) to[i] = static_cast<T>(f(i));
  });
}

// to[i] = first + i step, modulo the numbers of U. Several vectors go on side
// by side, since each waits for the one before it; products of 64 bits are
// slow.
template <typename U>
void CountOn(U* to, int64_t n, U first, U step) {
  typedef U Vector __attribute__((vector_size(16)));
  constexpr int64_t kLanes = 16 / sizeof(U), kVectors = 4;
  const auto times = [step](int64_t k) {
    return static_cast<U>(uint64_t{step} * static_cast<uint64_t>(k));
  };
  Vector a = Vector{} + first;
  for (int64_t l = 0; l < kLanes; ++l) a[l] = static_cast<U>(first + times(l));
  Vector b = a + times(kLanes), c = b + times(kLanes), d = c + times(kLanes);
  const Vector on = Vector{} + times(kVectors * kLanes);
  int64_t i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
    std::memcpy(to + i, &a, sizeof(a));
    std::memcpy(to + i + kLanes, &b, sizeof(b));
    std::memcpy(to + i + 2 * kLanes, &c, sizeof(c));
    std::memcpy(to + i + 3 * kLanes, &d, sizeof(d));
    a += on;
    b += on;
    c += on;
    d += on;
  }
  for (; i < n; ++i) to[i] = static_cast<U>(first + times(i));
}

// out[i] = start + i step, modulo 2^64, as far as T has bits of it.
template <typename T>
void Progression(Tensor* out, uint64_t start, uint64_t step) {
  using U = std::make_unsigned_t<T>;
  U* const to = reinterpret_cast<U*>(out->data<T>());
  parallel_for(0, out->numel(), kGrain, [=](int64_t b, int64_t e) {
    CountOn<U>(to + b, e - b,
               static_cast<U>(start + step * static_cast<uint64_t>(b)),
               static_cast<U>(step));
  });
}

// A double as T without undefined behaviour: values that T does not hold
// saturate.
template <typename T>
auto Representable(double v) {
  if constexpr (std::is_integral_v<T>) {
    return Scalar(std::isfinite(v) && std::fabs(v) < 0x1p63
                      ? v
                      : std::copysign(0x1p62, v))
        .to<T>();
  } else {
    return v;
  }
}

template <typename F>
void VisitReal(DType dtype, F f) {
  VisitDType(dtype, [&]<typename T>(TypeTag<T> tag) {
    if constexpr (!IsComplex(kDTypeOf<T>) && !std::is_same_v<T, bool>) f(tag);
  });
}

// The i-th of n values from a to b. From both ends, so that the last is b
// exactly and the values are symmetric.
double Interpolate(double a, double b, int64_t n, int64_t i) {
  if (n == 1) return a;
  const double step = (b - a) / static_cast<double>(n - 1);
  return i < n / 2 ? a + step * static_cast<double>(i)
                   : b - step * static_cast<double>(n - 1 - i);
}

template <typename T>
void TriangleIndices(int64_t rows, int64_t cols, int64_t offset, bool lower,
                     Tensor* out) {
  T* row = out->data<T>();
  T* col = row + out->size(1);
  if (out->size(1) == 0) return;
  // The first row that holds anything, and the last: there may be very many
  // others.
  for (int64_t i = lower && offset < 0 ? -(offset + 1) : 0; i < rows; ++i) {
    const int64_t n = infer::TriangleColumns(i, cols, offset, lower);
    if (n == 0 && !lower) break;
    for (int64_t j = lower ? 0 : cols - n; n > 0 && j < (lower ? n : cols);
         ++j) {
      *row++ = static_cast<T>(i);
      *col++ = static_cast<T>(j);
    }
  }
}

void Triangle(int64_t rows, int64_t cols, int64_t offset, bool lower,
              Tensor* out) {
  if (out->dtype() == DType::kInt32) {
    TriangleIndices<int32_t>(rows, cols, offset, lower, out);
  } else {
    TriangleIndices<int64_t>(rows, cols, offset, lower, out);
  }
}

}  // namespace

void Arange(const KernelContext&, const Scalar& start,
            const std::optional<Scalar>& end, const Scalar& step,
            std::optional<DType>, std::optional<Place>, Tensor* out) {
  const Scalar from = end.has_value() ? start : Scalar(int64_t{0});
  VisitReal(out->dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      if (!from.is_float() && !step.is_float()) {
        // Unsigned, since the product may pass the ends of int64 before the
        // sum.
        Progression<T>(out, static_cast<uint64_t>(from.to<int64_t>()),
                       static_cast<uint64_t>(step.to<int64_t>()));
        return;
      }
    }
    const double a = from.to<double>(), s = step.to<double>();
    FillWith<T>(out, [=](int64_t i) {
      return Representable<T>(a + s * static_cast<double>(i));
    });
  });
}

void Linspace(const KernelContext&, const Scalar& start, const Scalar& stop,
              int64_t num, std::optional<DType>, std::optional<Place>,
              Tensor* out) {
  const double a = start.to<double>(), b = stop.to<double>();
  VisitReal(out->dtype(), [&]<typename T>(TypeTag<T>) {
    FillWith<T>(out, [=](int64_t i) {
      const double v = Interpolate(a, b, num, i);
      return Representable<T>(std::is_integral_v<T> ? std::floor(v) : v);
    });
  });
}

void Logspace(const KernelContext&, const Scalar& start, const Scalar& stop,
              int64_t num, double base, std::optional<DType>,
              std::optional<Place>, Tensor* out) {
  const double a = start.to<double>(), b = stop.to<double>();
  VisitReal(out->dtype(), [&]<typename T>(TypeTag<T>) {
    FillWith<T>(out, [=](int64_t i) {
      return Representable<T>(std::pow(base, Interpolate(a, b, num, i)));
    });
  });
}

void Eye(const KernelContext&, int64_t, std::optional<int64_t>,
         std::optional<DType>, std::optional<Place>, Tensor* out) {
  Zero(*out);
  VisitDType(out->dtype(), [&]<typename T>(TypeTag<T>) {
    const int64_t n = std::min(out->size(0), out->size(1));
    for (int64_t i = 0; i < n; ++i) {
      out->data<T>()[i * (out->size(1) + 1)] = Scalar(int64_t{1}).to<T>();
    }
  });
}

void TrilIndices(const KernelContext&, int64_t row, int64_t col, int64_t offset,
                 DType, std::optional<Place>, Tensor* out) {
  Triangle(row, col, offset, /*lower=*/true, out);
}

void TriuIndices(const KernelContext&, int64_t row, int64_t col, int64_t offset,
                 DType, std::optional<Place>, Tensor* out) {
  Triangle(row, col, offset, /*lower=*/false, out);
}

}  // namespace proa::inline v0::ops::cpu
