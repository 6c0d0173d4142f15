// Kernels of arg.yaml. Inputs are contiguous: [outer, n, inner], n the searched dim.
#include <algorithm>
#include <cstdint>

#include "ops/primitives/cast_value.h"
#include "ops/primitives/cpu/elementwise.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/reduction/reduction_kernels.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Whether `a` wins against `b`, an earlier element. The first NaN wins.
struct Larger {
  template <class T>
  PROA_HD static bool Wins(T a, T b) {
    return b == b && !(a <= b);
  }
};
struct Smaller {
  template <class T>
  PROA_HD static bool Wins(T a, T b) {
    return b == b && !(a >= b);
  }
};

template <class Order>
struct WinnerOf {
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    return Order::Wins(b, a) ? b : a;
  }
};

// The winner's value first, in lanes, then its first place: both loops vectorize.
template <class Order, class T>
int64_t FindInLine(const T* line, int64_t n) {
  constexpr int64_t kPiece = 1024;
  T best = line[0];
  int64_t piece = 0;
  for (int64_t i = 0; i < n; i += kPiece) {
    const T v = reduce_internal::FoldRun<WinnerOf<Order>>(
        line + i, std::min(kPiece, n - i));
    if (Order::Wins(v, best)) {
      best = v;
      piece = i;
    }
  }
  int64_t i = piece;
  while (i < n && line[i] != best && best == best) ++i;
  if (best != best) {
    while (line[i] == line[i]) ++i;
  }
  return i;
}

// For half types, whose elements are compared as floats.
template <class Order, class T>
int64_t FindOneByOne(const T* line, int64_t n, int64_t step) {
  using C = std::conditional_t<kIsHalf<T>, float, T>;
  C best = static_cast<C>(line[0]);
  int64_t found = 0;
  for (int64_t i = 1; i < n; ++i) {
    const C v = static_cast<C>(line[i * step]);
    if (Order::Wins(v, best)) {
      best = v;
      found = i;
    }
  }
  return found;
}

// Columns side by side: `width` <= kStrip of them.
constexpr int64_t kStrip = 64;
template <class Order, class T>
void FindInColumns(const T* rows, int64_t n, int64_t inner, int64_t width,
                   int64_t* found) {
  using C = std::conditional_t<kIsHalf<T>, float, T>;
  C best[kStrip];
  for (int64_t j = 0; j < width; ++j) {
    best[j] = static_cast<C>(rows[j]);
    found[j] = 0;
  }
  for (int64_t i = 1; i < n; ++i) {
    const T* row = rows + i * inner;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) {
      const C v = static_cast<C>(row[j]);
      const bool wins = Order::Wins(v, best[j]);
      best[j] = wins ? v : best[j];
      found[j] = wins ? i : found[j];
    }
  }
}

void StoreIndices(const int64_t* from, int64_t n, int64_t at, Tensor* out) {
  if (out->dtype() == DType::kInt64) {
    std::copy_n(from, n, out->data<int64_t>() + at);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      out->data<int32_t>()[at + i] = static_cast<int32_t>(from[i]);
    }
  }
}

template <class Order, class T>
void FindIn(const Tensor& x, int64_t outer, int64_t n, int64_t inner,
            Tensor* out) {
  const T* data = x.data<T>();
  const int64_t strips = (inner + kStrip - 1) / kStrip;
  const int64_t work = std::max<int64_t>(1, n * std::min(inner, kStrip));
  parallel_for(
      0, outer * strips, std::max<int64_t>(1, kSerialCost / work),
      [&](int64_t begin, int64_t end) {
        int64_t found[kStrip];
        for (int64_t task = begin; task < end; ++task) {
          const int64_t o = task / strips, column = task % strips * kStrip;
          const int64_t width = std::min(kStrip, inner - column);
          const T* first = data + o * n * inner + column;
          if (inner > 1) {
            FindInColumns<Order>(first, n, inner, width, found);
          } else if constexpr (kIsHalf<T>) {
            found[0] = FindOneByOne<Order>(first, n, 1);
          } else {
            found[0] = FindInLine<Order>(first, n);
          }
          StoreIndices(found, width, o * inner + column, out);
        }
      });
}

template <class Order>
void Find(const Tensor& x, std::optional<int64_t> axis, Tensor* out) {
  if (out->numel() == 0) return;
  int64_t outer = 1, n = x.numel(), inner = 1;
  if (axis.has_value() && x.rank() > 0) {
    const int a = static_cast<int>(*axis < 0 ? *axis + x.rank() : *axis);
    n = x.size(a);
    for (int d = 0; d < a; ++d) outer *= x.size(d);
    for (int d = a + 1; d < x.rank(); ++d) inner *= x.size(d);
  }
  VisitDType(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!kIsComplex<T> && !std::is_same_v<T, bool>) {
      FindIn<Order, T>(x, outer, n, inner, out);
    }
  });
}

}  // namespace

void Argmax(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            bool, DType, Tensor* out) {
  Find<Larger>(x, axis, out);
}

void Argmin(const KernelContext&, const Tensor& x, std::optional<int64_t> axis,
            bool, DType, Tensor* out) {
  Find<Smaller>(x, axis, out);
}

}  // namespace proa::inline v0::ops::PROA_ISA
