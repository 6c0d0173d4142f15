// Compiled once for each instruction set (bazel/isa.bzl).
#include <algorithm>
#include <type_traits>

#include "ops/graph/pool_row.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

// Numbers of 16 bits are compared as floats.
template <typename T>
auto Compared(T value) {
  if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// Whether a takes the place of b; NaN takes that of every number.
template <bool kLargest, typename T>
bool Replaces(T a, T b) {
  const bool beyond = kLargest ? a > b : a < b;
  if constexpr (std::is_integral_v<T>) return beyond;
  return beyond | ((a != a) & (b == b));
}

template <typename T>
T Quotient(Sum<T> sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int64_t>(sum) / count);
  } else {
    return static_cast<T>(sum / static_cast<double>(count));
  }
}

template <typename T>
const T* RowOf(const PooledRow& p, int64_t i) {
  const int64_t row = p.rows == nullptr ? p.first + i : p.rows[i];
  return static_cast<const T*>(p.x) + row * p.inner + p.begin;
}

template <typename T, bool kLargest>
void Extreme(const PooledRow& p) {
  const int64_t n = p.end - p.begin;
  T* const to = static_cast<T*>(p.out) + p.begin;
  std::copy_n(RowOf<T>(p, 0), n, to);
  for (int64_t i = 1; i < p.count; ++i) {
    const T* const from = RowOf<T>(p, i);
    // (Stores without a condition are vectors.)
    for (int64_t j = 0; j < n; ++j)
      to[j] = Replaces<kLargest>(Compared(from[j]), Compared(to[j])) ? from[j]
                                                                     : to[j];
  }
}

template <typename T>
void PoolRow(const PooledRow& p) {
  if (p.pool == Pool::kMax) return Extreme<T, true>(p);
  if (p.pool == Pool::kMin) return Extreme<T, false>(p);
  const int64_t n = p.end - p.begin;
  Sum<T> sums[kMostPooled];
  std::fill_n(sums, n, Sum<T>(0));
  for (int64_t i = 0; i < p.count; ++i) {
    const T* const from = RowOf<T>(p, i);
    for (int64_t j = 0; j < n; ++j) sums[j] += static_cast<Sum<T>>(from[j]);
  }
  T* const to = static_cast<T*>(p.out) + p.begin;
  for (int64_t j = 0; j < n; ++j)
    to[j] = p.pool == Pool::kMean ? Quotient<T>(sums[j], p.count)
                                  : static_cast<T>(sums[j]);
}

}  // namespace

PoolRowFunction PoolRowFor(DType dtype) {
  PoolRowFunction found = nullptr;
  VisitDType(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (!IsComplex(kDTypeOf<T>) && !std::is_same_v<T, bool>)
      found = PoolRow<T>;
  });
  return found;
}

}  // namespace proa::inline v0::ops::PROA_ISA
