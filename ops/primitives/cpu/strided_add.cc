#include "ops/primitives/cpu/strided_add.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <type_traits>

#include "ops/primitives/cpu/iteration.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kGrain = 32768;

template <typename T>
void AddTo(T& a, T b) {
  if constexpr (std::is_integral_v<T>) {
    a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    a += b;
  }
}

template <typename T>
void AddRun(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  if (ds == kSize && ss == kSize) {
    T* d = reinterpret_cast<T*>(dst);
    const T* s = reinterpret_cast<const T*>(src);
    for (int64_t i = 0; i < n; ++i) AddTo(d[i], s[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    AddTo(*reinterpret_cast<T*>(dst + i * ds),
          *reinterpret_cast<const T*>(src + i * ss));
  }
}

// Dims [0, dim] of the plan from the given addresses on.
template <typename T>
void AddDims(const IterationPlan& plan, int dim, char* dst, const char* src) {
  const int64_t ds = plan.strides[0][dim], ss = plan.strides[1][dim];
  if (dim == 0) return AddRun<T>(dst, ds, src, ss, plan.dims[0]);
  for (int64_t i = 0; i < plan.dims[dim]; ++i) {
    AddDims<T>(plan, dim - 1, dst + i * ds, src + i * ss);
  }
}

// What lies between the first and the last element of dst over the other dims.
int64_t SpanOfOthers(const IterationPlan& plan, int dim) {
  int64_t span = 0;
  for (int d = 0; d < plan.rank; ++d)
    if (d != dim) span += (plan.dims[d] - 1) * std::abs(plan.strides[0][d]);
  return span;
}

// The longest dim whose indices never share an element of dst, or -1: it and
// all dims of larger strides step over what those of smaller ones reach.
int DimToCut(const IterationPlan& plan) {
  std::array<int, kMaxRank> order;
  std::iota(order.begin(), order.begin() + plan.rank, 0);
  const auto step = [&](int d) { return std::abs(plan.strides[0][d]); };
  std::sort(order.begin(), order.begin() + plan.rank,
            [&](int a, int b) { return step(a) < step(b); });
  int64_t reach = 0;
  int cut = -1;
  for (int i = 0; i < plan.rank; ++i) {
    const int d = order[i];
    if (step(d) <= reach || step(d) == 0) {
      cut = -1;
    } else if (cut < 0 || plan.dims[d] > plan.dims[cut]) {
      cut = d;
    }
    reach += (plan.dims[d] - 1) * step(d);
  }
  return cut;
}

// Range [begin, end) of dim `cut`.
template <typename T>
void AddRange(const IterationPlan& plan, int cut, int64_t begin, int64_t end) {
  IterationPlan part = plan;
  part.dims[cut] = end - begin;
  AddDims<T>(part, plan.rank - 1, plan.data[0] + begin * plan.strides[0][cut],
             plan.data[1] + begin * plan.strides[1][cut]);
}

// Windows that overlap: ranges so long that each shares elements with its
// neighbours alone, first every other one, then those between. By sizes, so
// that the order of sums is always the same.
template <typename T>
void AddOverlapping(const IterationPlan& plan) {
  int cut = 0;
  for (int d = 1; d < plan.rank; ++d)
    if (plan.dims[d] * std::abs(plan.strides[0][d]) >
        plan.dims[cut] * std::abs(plan.strides[0][cut]))
      cut = d;
  const int64_t step = std::abs(plan.strides[0][cut]), n = plan.dims[cut];
  if (step == 0) return AddRange<T>(plan, cut, 0, n);
  const int64_t range = std::max(SpanOfOthers(plan, cut) / step + 1,
                                 kGrain / (plan.numel / n) + 1);
  const int64_t ranges = (n + range - 1) / range;
  for (const int64_t first : {0, 1}) {
    parallel_for(0, (ranges - first + 1) / 2, 1, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const int64_t begin = (2 * i + first) * range;
        AddRange<T>(plan, cut, begin, std::min(begin + range, n));
      }
    });
  }
}

template <typename T>
void AddPlan(const IterationPlan& plan) {
  if (plan.numel < 2 * kGrain) {
    return AddDims<T>(plan, plan.rank - 1, plan.data[0], plan.data[1]);
  }
  const int cut = DimToCut(plan);
  if (cut < 0) return AddOverlapping<T>(plan);
  const int64_t grain =
      std::max<int64_t>(1, kGrain / (plan.numel / plan.dims[cut]));
  parallel_for(0, plan.dims[cut], grain,
               [&](int64_t b, int64_t e) { AddRange<T>(plan, cut, b, e); });
}

}  // namespace

void StridedAdd(DType dtype, const Shape& shape, void* dst,
                const Strides& dst_strides, const void* src,
                const Strides& src_strides) {
  if (shape.numel() == 0) return;
  const int64_t item_size = ItemSize(dtype);
  int64_t bytes[2][kMaxRank];
  for (int i = 0; i < shape.rank(); ++i) {
    bytes[0][i] = dst_strides[i] * item_size;
    bytes[1][i] = src_strides[i] * item_size;
  }
  char* const data[2] = {static_cast<char*>(dst),
                         static_cast<char*>(const_cast<void*>(src))};
  const int64_t* const strides[2] = {bytes[0], bytes[1]};
  IterationPlan plan;
  PlanIteration(shape, 2, data, strides, &plan);
  VisitDType(dtype, [&]<typename T>(TypeTag<T>) { AddPlan<T>(plan); });
}

}  // namespace proa::inline v0::ops::cpu
