// What the conformance suite cannot see of argmax and argmin: long lines and
// wide rows, whose winners are found in lanes; ties and NaN far apart.
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

#include "gtest/gtest.h"
#include "ops/reduction/arg_ops.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

std::mt19937 random_bits(1);

// `values` different values, so that there are ties; NaN with that chance.
template <class T>
Tensor Random(const Shape& shape, int values, double nan) {
  Tensor t = Tensor::Empty(shape, kDTypeOf<T>);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data<T>()[i] =
        static_cast<T>(static_cast<int>(random_bits() % values) - values / 2);
    if constexpr (std::is_floating_point_v<T>) {
      if (random_bits() % 100000 < nan * 100000) {
        t.data<T>()[i] = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
  return t;
}

template <class T>
int64_t Slow(const T* line, int64_t n, int64_t step, bool largest) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    const T a = line[i * step], b = line[best * step];
    if (b != b) break;
    if (a != a || (largest ? a > b : a < b)) best = i;
  }
  return best;
}

template <class T>
void Compare(const Shape& shape, int values, double nan) {
  const Tensor x = Random<T>(shape, values, nan);
  for (int axis = 0; axis < x.rank(); ++axis) {
    int64_t inner = 1;
    const int64_t n = x.size(axis);
    for (int d = axis + 1; d < x.rank(); ++d) inner *= x.size(d);
    const Tensor most = ops::argmax(x, axis), least = ops::argmin(x, axis);
    const Tensor narrow = ops::argmax(x, axis, false, DType::kInt32);
    for (int64_t i = 0; i < most.numel(); ++i) {
      const T* line = x.data<T>() + i / inner * n * inner + i % inner;
      ASSERT_EQ(most.data<int64_t>()[i], Slow(line, n, inner, true))
          << ToString(shape) << " axis " << axis << " at " << i;
      ASSERT_EQ(narrow.data<int32_t>()[i], most.data<int64_t>()[i]);
      ASSERT_EQ(least.data<int64_t>()[i], Slow(line, n, inner, false))
          << ToString(shape) << " axis " << axis << " at " << i;
    }
  }
}

template <class T>
class Arg : public ::testing::Test {};
using Types =
    ::testing::Types<float, double, int64_t, int32_t, int16_t, uint8_t>;
TYPED_TEST_SUITE(Arg, Types);

TYPED_TEST(Arg, AnyShape) {
  for (const int threads : {1, 3}) {
    SetNumThreads(threads);
    for (const Shape& shape :
         {Shape{200000}, Shape{513}, Shape{40, 700}, Shape{700, 40},
          Shape{9, 2049}, Shape{2100, 3}, Shape{2113, 2}, Shape{1037, 4},
          Shape{5, 3}, Shape{6, 17, 23}, Shape{1, 1500}}) {
      for (const double nan : {0., 0.0003, 0.01, 0.3}) {
        Compare<TypeParam>(shape, 5, nan);
        Compare<TypeParam>(shape, 250, nan);
      }
    }
  }
  SetNumThreads(AvailableCpus());
}

}  // namespace
}  // namespace proa::inline v0
