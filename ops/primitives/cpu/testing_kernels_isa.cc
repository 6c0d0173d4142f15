#include <limits>

#include "ops/primitives/arithmetic.h"
#include "ops/primitives/cpu/accumulator.h"
#include "ops/primitives/cpu/loops.h"
#include "ops/primitives/cpu/philox_words.h"
#include "ops/primitives/cpu/reduce.h"
#include "ops/primitives/cpu/testing_kernels.h"
#include "ops/primitives/vector_math.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

struct Sum {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return a + b;
  }
};
struct Product {
  template <class T>
  PROA_HD static T Apply(T a, T b) {
    return WrapMultiply(a, b);
  }
};
struct Exponential {
  static constexpr float kCost = 4;
  PROA_HD static float Apply(float x) { return vmath::Exp(x); }
};
struct Choice {
  template <class T>
  using InputTypes = std::tuple<bool, T, T>;
  template <class T>
  PROA_HD static T Apply(bool c, T x, T y) {
    return c ? x : y;
  }
};
struct MaxOf {
  template <class T>
  static T Identity() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class T>
  PROA_HD static T Combine(T a, T b) {
    return a != a || a > b ? a : b;
  }
};

void AddKernel(const Tensor& x, const Tensor& y, Tensor* out) {
  RunElementwise<float>(Sum{}, out, x, y);
}
void MultiplyKernel(const Tensor& x, const Tensor& y, Tensor* out) {
  RunElementwise<complex64>(Product{}, out, x, y);
}
void ExpKernel(const Tensor& x, Tensor* out) {
  RunElementwise<float>(Exponential{}, out, x);
}
void SelectKernel(const Tensor& c, const Tensor& x, const Tensor& y,
                  Tensor* out) {
  RunElementwise<float>(Choice{}, out, c, x, y);
}
void SumKernel(const Tensor& x, uint64_t axes, float* acc) {
  Reduce(MakeReduction<SumOf, float>(), x, axes, acc);
}
void MaxKernel(const Tensor& x, uint64_t axes, float* acc) {
  Reduce(MakeReduction<MaxOf, float>(), x, axes, acc);
}

void Words(const PhiloxStream& stream, uint64_t block, int64_t n,
           uint32_t* words) {
  PhiloxVectors(stream).Words(block, n, words);
}

}  // namespace

TestingKernels GetTestingKernels() {
  return {PROA_ISA_NAME, &AddKernel, &MultiplyKernel, &ExpKernel,
          &SelectKernel, &SumKernel, &MaxKernel,      &Words};
}

}  // namespace proa::inline v0::ops::PROA_ISA
