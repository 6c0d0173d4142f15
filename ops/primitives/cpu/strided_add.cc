#include "ops/primitives/cpu/strided_add.h"

#include <algorithm>
#include <cstdint>
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

template <typename T>
void AddPlan(IterationPlan plan) {
  // Threads take ranges of the longest dim that dst does not sum over.
  int cut = -1;
  for (int d = 0; d < plan.rank; ++d) {
    if (plan.strides[0][d] != 0 && (cut < 0 || plan.dims[d] > plan.dims[cut]))
      cut = d;
  }
  const int top = plan.rank - 1;
  if (cut < 0 || plan.numel < 2 * kGrain) {
    return AddDims<T>(plan, top, plan.data[0], plan.data[1]);
  }
  const int64_t grain =
      std::max<int64_t>(1, kGrain / (plan.numel / plan.dims[cut]));
  parallel_for(0, plan.dims[cut], grain, [&](int64_t b, int64_t e) {
    IterationPlan part = plan;
    part.dims[cut] = e - b;
    AddDims<T>(part, top, plan.data[0] + b * plan.strides[0][cut],
               plan.data[1] + b * plan.strides[1][cut]);
  });
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
