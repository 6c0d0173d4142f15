// The loop over the elements of parameters: how a step's formula is applied.
// Included by kernels that are compiled once for each instruction set.
#ifndef PROA_OPS_OPTIMIZER_ELEMENTS_H_
#define PROA_OPS_OPTIMIZER_ELEMENTS_H_

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

// Calls body.operator()<T>(i, begin, n, gradients) for the parts of the
// parameters that the work consists of (step.h), on several threads if that is
// worth it.
template <typename F>
void RunStep(const optimizer::StepWork& work, F&& body) {
  parallel_for(0, work.total(), kGrain, [&](int64_t first, int64_t last) {
    work.ForParts(
        first, last, [&](size_t i, int64_t begin, int64_t n, const char* g) {
          VisitFloating(work.params()[i].dtype(), [&]<typename T>(TypeTag<T>) {
            body.template operator()<T>(i, begin, n,
                                        reinterpret_cast<const T*>(g));
          });
        });
  });
}

}  // namespace
}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_OPTIMIZER_ELEMENTS_H_
