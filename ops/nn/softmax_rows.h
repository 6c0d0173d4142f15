// Softmax of rows of float or double that lie behind each other, for kernels
// compiled once per instruction set. Short rows are taken some together, so
// that exponentials are one long loop and logarithms another, whatever the
// length of rows. Sums go over lanes and add up in the order of SumOver
// (row_loops.h): what a row becomes depends on it alone, and its bits not on
// the instruction set.
#ifndef PROA_OPS_NN_SOFTMAX_ROWS_H_
#define PROA_OPS_NN_SOFTMAX_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/nn/row_loops.h"
#include "ops/primitives/cpu/ahead.h"
#include "ops/primitives/cpu/vector_parts.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace softmax_internal {

// Elements of short rows that are taken together, and of a part of a long row:
// they stay in the L1 cache.
inline constexpr int64_t kTogether = 1024;
// A part is whole lanes of sums.
static_assert(kTogether % kWideLanes == 0 && kTogether >= kWideRow);

// e^x of what is not positive: the same bits as Exp, with fewer steps.
PROA_HD float ExpOfDistance(float x) { return vmath::ExpOfMinusAbs(x); }
PROA_HD double ExpOfDistance(double x) { return vmath::Exp(x); }

// x[i] = e^x[i], where that is 1 at most.
template <typename A>
inline void ExpOf(A* x, int64_t n) {
  using V = VectorOf<A>;
  const int64_t whole = n - n % V::kLanes;
  for (int64_t i = 0; i < whole; ++i) x[i] = ExpOfDistance(x[i]);
  if (whole == n) return;
  // Of a whole vector too, in a loop whose length gcc does not know: a scalar
  // one takes as long for each element as a vector.
  alignas(64) A rest[V::kLanes];
  V::Store(rest, LoadFirst(x + whole, n - whole, A(0)));
  int64_t lanes = V::kLanes;
  asm("" : "+r"(lanes));
  for (int64_t l = 0; l < lanes; ++l) rest[l] = ExpOfDistance(rest[l]);
  StoreFirst(x + whole, V::Load(rest), n - whole);
}

// The largest of n elements, n > 0; NaN may be passed over.
template <typename A>
inline A LargestOf(const A* x, int64_t n) {
  using V = VectorOf<A>;
  using row_internal::Larger;
  constexpr int64_t kL = V::kLanes;
  if (n < kL) {
    return FoldLanes<Larger, A>(
        LoadFirst(x, n, -std::numeric_limits<A>::infinity()));
  }
  auto top = V::Load(x + n - kL);
  int64_t i = 0;
  if (n >= 4 * kL) {
    typename V::Type tops[4] = {top, top, top, top};
    for (; i + 4 * kL <= n; i += 4 * kL) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k)
        tops[k] = Larger::Of(tops[k], V::Load(x + i + k * kL));
    }
    top =
        Larger::Of(Larger::Of(tops[0], tops[1]), Larger::Of(tops[2], tops[3]));
  }
  for (; i + kL <= n; i += kL) top = Larger::Of(top, V::Load(x + i));
  return FoldLanes<Larger, A>(top);
}

// Sums in kWidth lanes: of runs of elements, each but the last of whole lanes.
template <typename A, int kWidth>
class LaneSums {
 public:
  void Add(const A* x, int64_t n) {
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
#pragma GCC unroll 16
      for (int k = 0; k < kCount; ++k) sums_[k] += V::Load(x + i + k * kL);
    }
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      const int64_t rest = n - i - k * kL;
      if (rest <= 0) break;
      sums_[k] += rest >= kL ? V::Load(x + i + k * kL)
                             : LoadFirst(x + i + k * kL, rest, A(0));
    }
  }
  A Total() {
#pragma GCC unroll 8
    for (int half = kCount / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) sums_[k] += sums_[k + half];
    }
    return FoldLanes<row_internal::Plus, A>(sums_[0]);
  }

 private:
  using V = VectorOf<A>;
  static constexpr int kL = V::kLanes, kCount = kWidth / kL;
  typename V::Type sums_[kCount] = {};
};

template <typename A>
inline A SumOfShort(const A* x, int64_t n) {
  LaneSums<A, kLanes> sums;
  sums.Add(x, n);
  return sums.Total();
}

// to[i] = f(x[i]) of vectors; `to` may be x.
template <typename A, typename F>
inline void MapRow(const A* x, int64_t n, A* to, F&& f) {
  using V = VectorOf<A>;
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes)
    V::Store(to + i, f(V::Load(x + i)));
  if (i < n) StoreFirst(to + i, f(LoadFirst(x + i, n - i, A(0))), n - i);
}

}  // namespace softmax_internal

// Rows of n elements that are taken together.
inline int64_t RowsTogether(int64_t n) {
  return std::max<int64_t>(1, softmax_internal::kTogether / n);
}

// e^(factor x - top), where top is the largest product of the row, of `rows`
// short rows of n < kWideRow elements, and their sums, at most RowsTogether(n);
// `out` may be x.
template <typename A>
inline void ExpShortRows(const A* x, int64_t rows, int64_t n, A factor, A* out,
                         A* sums) {
  using namespace softmax_internal;  // NOLINT(google-build-using-namespace)
  for (int64_t r = 0; r < rows; ++r) {
    // Rounding keeps the order: this is the largest of the products.
    const A top = LargestOf(x + r * n, n) * factor;
    MapRow(x + r * n, n, out + r * n,
           [=](const auto& v) { return v * factor - top; });
  }
  ExpOf(out, rows * n);
  for (int64_t r = 0; r < rows; ++r) sums[r] = SumOfShort(out + r * n, n);
}

// The same of a long row; returns the sum.
template <typename A>
inline A ExpLongRow(const A* x, int64_t n, A factor, A* out) {
  using namespace softmax_internal;  // NOLINT(google-build-using-namespace)
  const A top = LargestOf(x, n) * factor;
  // What lies behind, to which most callers come next, is on its way meanwhile.
  constexpr int64_t kPart = 256, kLine = 64 / sizeof(A);
  const int64_t ahead = std::max<int64_t>(n, cpu::kAhead / sizeof(A));
  LaneSums<A, kWideLanes> sums;
  for (int64_t part = 0; part < n; part += kPart) {
    const int64_t count = std::min(n - part, kPart);
    for (int64_t i = part; i < part + count; i += kLine)
      __builtin_prefetch(x + ahead + i);
    const A* const from = x + part;
    A* const to = out + part;
    const int64_t whole = count - count % VectorOf<A>::kLanes;
    for (int64_t i = 0; i < whole; ++i)
      to[i] = ExpOfDistance(from[i] * factor - top);
    if (whole < count) {
      MapRow(from + whole, count - whole, to + whole,
             [=](const auto& v) { return v * factor - top; });
      ExpOf(to + whole, count - whole);
    }
    sums.Add(to, count);
  }
  return sums.Total();
}

// weight softmax(x) of a row of n > 0 elements. `out` may be x.
template <typename A>
inline void WeightedSoftmaxRow(const A* x, int64_t n, A weight, A* out) {
  A sum;
  if (n < kWideRow)
    ExpShortRows(x, 1, n, A(1), out, &sum);
  else
    sum = ExpLongRow(x, n, A(1), out);
  const A factor = weight / sum;
  softmax_internal::MapRow(out, n, out,
                           [factor](const auto& v) { return v * factor; });
}

// softmax(factor x) of rows of n > 0 elements, where factor is not negative.
// `out` may be x.
template <typename A>
inline void SoftmaxRows(const A* x, int64_t rows, int64_t n, A factor, A* out) {
  using namespace softmax_internal;  // NOLINT(google-build-using-namespace)
  const auto scale = [n](A* row, A sum) {
    const A by = A(1) / sum;
    MapRow(row, n, row, [by](const auto& v) { return v * by; });
  };
  if (n >= kWideRow) {
    for (int64_t r = 0; r < rows; ++r)
      scale(out + r * n, ExpLongRow(x + r * n, n, factor, out + r * n));
    return;
  }
  A sums[kTogether];
  const int64_t together = RowsTogether(n);
  for (int64_t r = 0; r < rows; r += together) {
    const int64_t count = std::min(together, rows - r);
    ExpShortRows(x + r * n, count, n, factor, out + r * n, sums);
    for (int64_t i = 0; i < count; ++i) scale(out + (r + i) * n, sums[i]);
  }
}

// log(sum(e^(x - top))) of a row of n > 0 elements, and the largest of them.
template <typename A>
inline A LogSumFromTop(const A* x, int64_t n, A* top) {
  using namespace softmax_internal;  // NOLINT(google-build-using-namespace)
  alignas(64) A powers[kTogether];
  const A most = *top = LargestOf(x, n);
  const auto exp_of_part = [&](int64_t part, int64_t count) {
    MapRow(x + part, count, powers, [most](const auto& v) { return v - most; });
    ExpOf(powers, count);
  };
  if (n < kWideRow) {
    exp_of_part(0, n);
    return Log(SumOfShort(powers, n));
  }
  LaneSums<A, kWideLanes> sums;
  for (int64_t part = 0; part < n; part += kTogether) {
    const int64_t count = std::min(n - part, kTogether);
    exp_of_part(part, count);
    sums.Add(powers, count);
  }
  return Log(sums.Total());
}

// log(softmax(x)) of rows of n > 0 elements. `out` may be x.
template <typename A>
inline void LogSoftmaxRows(const A* x, int64_t rows, int64_t n, A* out) {
  using namespace softmax_internal;  // NOLINT(google-build-using-namespace)
  if (n >= kWideRow) {
    for (int64_t r = 0; r < rows; ++r) {
      A top;
      const A log_sum = LogSumFromTop(x + r * n, n, &top);
      MapRow(x + r * n, n, out + r * n,
             [=](const auto& v) { return (v - top) - log_sum; });
    }
    return;
  }
  alignas(64) A powers[kTogether];
  A sums[kTogether];
  const int64_t together = RowsTogether(n);
  for (int64_t r = 0; r < rows; r += together) {
    const int64_t count = std::min(together, rows - r);
    A* const to = out + r * n;
    for (int64_t i = 0; i < count; ++i) {
      const A* const row = x + (r + i) * n;
      const A top = LargestOf(row, n);
      MapRow(row, n, to + i * n, [top](const auto& v) { return v - top; });
    }
    std::copy_n(to, count * n, powers);
    ExpOf(powers, count * n);
    for (int64_t i = 0; i < count; ++i) sums[i] = SumOfShort(powers + i * n, n);
    for (int64_t i = 0; i < count; ++i) sums[i] = Log(sums[i]);
    for (int64_t i = 0; i < count; ++i) {
      const A log_sum = sums[i];
      MapRow(to + i * n, n, to + i * n,
             [log_sum](const auto& v) { return v - log_sum; });
    }
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_SOFTMAX_ROWS_H_
