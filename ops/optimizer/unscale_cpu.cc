// Kernels of loss scalers, compiled once per instruction set.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/optimizer/elements.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/unscale_kernels.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

template <typename T>
constexpr bool kIsLow = sizeof(T) == 2;

template <typename T>
using Bits =
    std::conditional_t<kIsLow<T>, uint16_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

// Whether one is NaN or infinite: its exponent is full. By the bits, which are
// compared in vectors of any type.
template <typename T>
bool AnyBad(const T* x, int64_t n) {
  constexpr Bits<T> kFull =
      std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity());
  Bits<T> bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<Bits<T>>(x[i]);
    bad |= static_cast<Bits<T>>((bits & kFull) == kFull);
  }
  return bad != 0;
}

// Multiplies, and looks at what comes out. Elements of 16 bits go by runs
// through a buffer in the first cache: a loop that converts one way is
// vectorized.
template <typename T>
bool Unscale(T* x, int64_t n, double factor) {
  if constexpr (kIsLow<T>) {
    float run[kRun];
    bool bad = false;
    for (int64_t at = 0; at < n; at += kRun) {
      const int64_t count = std::min(kRun, n - at);
      Scale(x + at, count, factor, run);
      for (int64_t j = 0; j < count; ++j) x[at + j] = static_cast<T>(run[j]);
      bad |= AnyBad(x + at, count);
    }
    return bad;
  } else {
    const T f = static_cast<T>(factor);
    bool bad = false;
    for (int64_t at = 0; at < n; at += kRun) {
      const int64_t count = std::min(kRun, n - at);
      for (int64_t j = at; j < at + count; ++j) x[j] *= f;
      bad |= AnyBad(x + at, count);
    }
    return bad;
  }
}

// Calls body(x, begin, n) for parts of all of `xs`, on several threads;
// returns whether one of the calls does.
template <typename F>
bool AnyPart(std::span<const Tensor> xs, F&& body) {
  std::vector<int64_t> starts = {0};
  for (const Tensor& x : xs) starts.push_back(starts.back() + x.numel());
  std::atomic<bool> found = false;
  parallel_for(0, starts.back(), kGrain, [&](int64_t first, int64_t last) {
    size_t i = std::ranges::upper_bound(starts, first) - starts.begin() - 1;
    bool bad = false;
    for (; first < last; ++i) {
      const int64_t end = std::min(last, starts[i + 1]);
      if (first < end) bad |= body(xs[i], first - starts[i], end - first);
      first = std::max(first, end);
    }
    if (bad) found.store(true, std::memory_order_relaxed);
  });
  return found.load();
}

}  // namespace

void AllFinite(const KernelContext&, std::span<const Tensor> xs, Tensor* out) {
  optimizer::CheckFloating("all_finite", "xs", xs);
  std::vector<Tensor> held(xs.begin(), xs.end());
  for (Tensor& x : held) {
    if (IsRowSparse(x)) x = ValuesOf(MergeRows(x));
  }
  *out->data<bool>() =
      !AnyPart(held, [](const Tensor& x, int64_t begin, int64_t n) {
        bool bad = false;
        VisitFloating(x.dtype(), [&]<typename T>(TypeTag<T>) {
          bad = AnyBad(x.data<T>() + begin, n);
        });
        return bad;
      });
}

void CheckFiniteAndUnscale(const KernelContext&, std::span<const Tensor> xs,
                           const Tensor& found_inf, double factor) {
  optimizer::CheckUnscale("check_finite_and_unscale_", xs, found_inf);
  const bool bad =
      AnyPart(xs, [factor](const Tensor& x, int64_t begin, int64_t n) {
        bool any = false;
        VisitFloating(x.dtype(), [&]<typename T>(TypeTag<T>) {
          any = Unscale(x.data<T>() + begin, n, factor);
        });
        return any;
      });
  if (bad) *found_inf.data<bool>() = true;
}

}  // namespace proa::inline v0::ops::PROA_ISA
