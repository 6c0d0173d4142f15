// The loop over the elements of parameters: how a step's formula is applied.
// Included by kernels that are compiled once for each instruction set.
#ifndef PROA_OPS_OPTIMIZER_ELEMENTS_H_
#define PROA_OPS_OPTIMIZER_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/optimizer/step.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Elements are computed in float, those of float64 in double.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Calls f(TypeTag<T>) for the floating point type T of `dtype`.
template <typename F>
void VisitFloating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(TypeTag<float>{});
    case DType::kFloat64:
      return f(TypeTag<double>{});
    case DType::kFloat16:
      return f(TypeTag<float16>{});
    case DType::kBFloat16:
      return f(TypeTag<bfloat16>{});
    default:
      return;  // the kernel table holds floating point types only
  }
}

// A step reads three or four streams and writes two: 16 Ki elements are some 10
// us.
constexpr int64_t kGrain = 1 << 14;

constexpr int64_t kRun = 1 << 10;

// Beside float32 parameters gradients may be of 16 bits; else of their type.
template <typename G, typename T>
void Scale(const G* g, int64_t n, double scale, T* out) {
  if constexpr (std::is_same_v<G, T> || std::is_same_v<T, float>) {
    const auto factor = static_cast<Wide<T>>(scale);
    for (int64_t j = 0; j < n; ++j) {
      out[j] = static_cast<T>(static_cast<Wide<T>>(g[j]) * factor);
    }
  }
}

// The 16-bit parameters beside float32 ones, where there are such.
inline void Round(const optimizer::StepWork& work, size_t i, int64_t begin,
                  int64_t n) {
  if (work.rounded().empty()) return;
  const Tensor& low = work.rounded()[i];
  const float* p = work.params()[i].data<float>() + begin;
  VisitFloating(low.dtype(), [&]<typename L>(TypeTag<L>) {
    L* __restrict__ out = low.data<L>() + begin;
    for (int64_t j = 0; j < n; ++j) out[j] = static_cast<L>(p[j]);
  });
}

// Calls body.operator()<T>(i, begin, n, gradients) for the parts of the
// parameters that the work consists of (step.h), on several threads if that is
// worth it.
//
// Where gradients are of another type than parameters, or scaled, they go by
// runs through a buffer that stays in the first cache; so do the results that
// are rounded. No list of tensors is gone through twice.
template <typename F>
void RunStep(const optimizer::StepWork& work, F&& body) {
  parallel_for(0, work.total(), kGrain, [&](int64_t first, int64_t last) {
    work.ForParts(
        first, last, [&](size_t i, int64_t begin, int64_t n, const char* g) {
          VisitFloating(work.params()[i].dtype(), [&]<typename T>(TypeTag<T>) {
            const DType kind = work.gradient_dtype(i);
            if (kind == kDTypeOf<T> && work.scale() == 1.0 &&
                work.rounded().empty()) {
              body.template operator()<T>(i, begin, n,
                                          reinterpret_cast<const T*>(g));
              return;
            }
            T run[kRun];
            for (int64_t at = 0; at < n; at += kRun) {
              const int64_t count = std::min(kRun, n - at);
              VisitFloating(kind, [&]<typename G>(TypeTag<G>) {
                Scale(reinterpret_cast<const G*>(g) + at, count, work.scale(),
                      run);
              });
              body.template operator()<T>(i, begin + at, count, run);
              if constexpr (std::is_same_v<T, float>) {
                Round(work, i, begin + at, count);
              }
            }
          });
        });
  });
}

}  // namespace
}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_OPTIMIZER_ELEMENTS_H_
