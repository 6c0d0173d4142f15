// Kernels of loss scalers, compiled once per instruction set.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/optimizer/elements.h"
#include "ops/optimizer/lists.h"
#include "ops/optimizer/unscale_kernels.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

template <typename W>
bool Finite(W v) {
  return std::abs(v) <= std::numeric_limits<W>::max();
}

template <typename T>
bool AnyBad(const T* x, int64_t n) {
  bool bad = false;
  for (int64_t i = 0; i < n; ++i) bad |= !Finite(static_cast<Wide<T>>(x[i]));
  return bad;
}

// Multiplies, and looks at what comes out.
template <typename T>
bool Unscale(T* x, int64_t n, double factor) {
  using W = Wide<T>;
  const W f = static_cast<W>(factor);
  bool bad = false;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<T>(static_cast<W>(x[i]) * f);
    bad |= !Finite(static_cast<W>(x[i]));
  }
  return bad;
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
