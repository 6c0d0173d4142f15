// What the conformance suite cannot see of reductions: every combination of
// layouts and dims against a loop over indices, error growth, and the same bits
// for any number of threads and any instruction set.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/primitives/cpu/testing_kernels.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

std::mt19937 random_bits(1);
int64_t Below(int64_t n) { return static_cast<int64_t>(random_bits() % n); }

// Small whole numbers, whose float sums are exact in any order.
Tensor RandomView(int largest) {
  Shape shape;
  for (int d = 0, rank = 1 + static_cast<int>(Below(4)); d < rank; ++d) {
    shape.push_back(1 + Below(d == 0 ? largest : 9));
  }
  Strides strides(shape.rank());
  std::vector<int> order(shape.rank());
  for (int d = 0; d < shape.rank(); ++d) order[d] = d;
  std::shuffle(order.begin(), order.end(), random_bits);
  int64_t step = 1 + Below(2);
  for (const int d : order) {
    strides[d] = Below(6) == 0 ? 0 : step;
    step *= shape[d];
  }
  Tensor memory = Tensor::Empty({step + 1}, DType::kFloat32);
  for (int64_t i = 0; i < memory.numel(); ++i) {
    memory.data<float>()[i] = static_cast<float>(Below(17) - 8);
  }
  return memory.AsStrided(shape, strides, 0);
}

std::vector<float> SlowSum(const Tensor& x, uint64_t axes) {
  int64_t results = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (!(axes >> d & 1)) results *= x.size(d);
  }
  std::vector<float> out(results, 0);
  std::vector<int64_t> index(x.rank(), 0);
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t from = 0, to = 0;
    for (int d = 0; d < x.rank(); ++d) {
      from += index[d] * x.strides()[d];
      if (!(axes >> d & 1)) to = to * x.size(d) + index[d];
    }
    out[to] += x.data<float>()[from];
    for (int d = x.rank() - 1; d >= 0 && ++index[d] == x.size(d); --d) {
      index[d] = 0;
    }
  }
  return out;
}

TEST(Reduce, TakesAnyLayoutAndAnyDims) {
  for (int round = 0; round < 600; ++round) {
    const Tensor x = RandomView(round % 7 == 0 ? 3000 : 40);
    const uint64_t axes = random_bits() & ((1u << x.rank()) - 1);
    const std::vector<float> want = SlowSum(x, axes);
    for (const TestingKernels& k : AllTestingKernels()) {
      std::vector<float> got(want.size());
      k.sum(x, axes, got.data());
      ASSERT_EQ(got, want) << k.isa << ToString(x.shape()) << " axes " << axes;
    }
  }
}

TEST(Reduce, ThreadsAndInstructionSetsGiveTheSameBits) {
  const int64_t n = int64_t{3} << 20;
  Tensor memory = Tensor::Empty({n}, DType::kFloat32);
  for (int64_t i = 0; i < n; ++i) {
    memory.data<float>()[i] =
        std::ldexp(1.f + static_cast<float>(Below(1 << 20)),
                   static_cast<int>(Below(40)) - 20);
  }
  for (const Shape& shape : {Shape{n}, Shape{n / 8, 8}, Shape{8, n / 8},
                             Shape{n / 1024, 1024}, Shape{64, n / 4096, 64}}) {
    const Tensor x = memory.AsStrided(shape, ContiguousStrides(shape), 0);
    for (uint64_t axes = 1; axes < uint64_t{1} << x.rank(); ++axes) {
      int64_t results = 1;
      for (int d = 0; d < x.rank(); ++d) {
        if (!(axes >> d & 1)) results *= x.size(d);
      }
      std::vector<float> first;
      for (const TestingKernels& k : AllTestingKernels()) {
        for (const int threads : {1, 2, 5}) {
          SetNumThreads(threads);
          std::vector<float> got(results);
          k.sum(x, axes, got.data());
          if (first.empty()) first = got;
          ASSERT_EQ(std::memcmp(got.data(), first.data(), 4 * got.size()), 0)
              << k.isa << ToString(shape) << " axes " << axes << ", " << threads
              << " threads";
        }
      }
    }
  }
  SetNumThreads(AvailableCpus());
}

TEST(Reduce, ErrorsGrowWithTheLogarithmOfTheLength) {
  // One after the other, 2^24 ones and a half would lose half of each addition.
  const int64_t n = int64_t{1} << 24;
  Tensor x = Tensor::Empty({n}, DType::kFloat32);
  double exact = 0;
  for (int64_t i = 0; i < n; ++i) {
    x.data<float>()[i] = static_cast<float>(1 + i % 7) / 7;
    exact += x.data<float>()[i];
  }
  for (const Shape& shape : {Shape{n}, Shape{n / 16, 16}}) {
    const TestingKernels k = AllTestingKernels().back();
    std::vector<float> got(shape.rank() == 1 ? 1 : 16);
    k.sum(x.AsStrided(shape, ContiguousStrides(shape), 0), 1, got.data());
    double sum = 0;
    for (const float v : got) sum += v;
    EXPECT_NEAR(sum / exact, 1, 4 * std::numeric_limits<float>::epsilon());
  }
}

TEST(Reduce, MaxKeepsNan) {
  for (const int64_t n : {3, 70, 5000, 200000}) {
    Tensor x = Tensor::Empty({n}, DType::kFloat32);
    std::fill_n(x.data<float>(), n, 1.f);
    x.data<float>()[n / 2] = std::numeric_limits<float>::quiet_NaN();
    for (const TestingKernels& k : AllTestingKernels()) {
      float got;
      k.max(x, 1, &got);
      EXPECT_TRUE(std::isnan(got)) << k.isa << n;
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
