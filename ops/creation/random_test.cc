// What the conformance suite cannot see: the default generator, threads and
// figures of large tensors.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "ops/creation/full_ops.h"
#include "ops/creation/random_ops.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa {
namespace {

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0;
}

std::vector<Tensor> DrawAll() {
  SeedAll(42);
  const Tensor p = ops::full({30001}, Scalar(0.3), DType::kFloat32);
  const Tensor weights = ops::full({500, 40}, Scalar(1.0), DType::kFloat32);
  return {ops::uniform({50001}, DType::kFloat32),
          ops::uniform({50001}, DType::kFloat64),
          ops::gaussian({50001}, DType::kFloat32),
          ops::gaussian({50001}, DType::kBFloat16),
          ops::truncated_gaussian({20001}, DType::kFloat32),
          ops::randint(0, 1000, {50001}),
          ops::randperm(10000),
          ops::bernoulli(p),
          ops::poisson(p),
          ops::exponential(p, 2.0),
          ops::multinomial(weights, 9, true),
          ops::multinomial(weights, 9, false)};
}

TEST(RandomTest, SameSeedSameNumbersForAnyThreads) {
  SetNumThreads(1);
  const std::vector<Tensor> one = DrawAll();
  SetNumThreads(3);
  const std::vector<Tensor> three = DrawAll();
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(SameBits(one[i], three[i])) << i;
}

TEST(RandomTest, CallsDifferAndAnExplicitSeedLeavesTheGeneratorAlone) {
  SeedAll(1);
  const Tensor a = ops::uniform({100}, DType::kFloat32);
  const Tensor b = ops::uniform({100}, DType::kFloat32);
  EXPECT_FALSE(SameBits(a, b));
  SeedAll(1);
  ops::uniform({7}, DType::kFloat32, Scalar(0.0), Scalar(1.0), /*seed=*/9);
  EXPECT_TRUE(SameBits(a, ops::uniform({100}, DType::kFloat32)));
}

template <typename T>
void ExpectMoments(const Tensor& t, double mean, double variance,
                   double tolerance) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = static_cast<double>(t.data<T>()[i]);
    sum += v;
    squares += v * v;
  }
  const double m = sum / static_cast<double>(t.numel());
  EXPECT_NEAR(m, mean, tolerance);
  EXPECT_NEAR(squares / static_cast<double>(t.numel()) - m * m, variance,
              3 * tolerance);
}

TEST(RandomTest, Moments) {
  SeedAll(7);
  ExpectMoments<float>(
      ops::uniform({200000}, DType::kFloat32, Scalar(0.0), Scalar(1.0)), 0.5,
      1.0 / 12, 0.005);
  ExpectMoments<float>(ops::gaussian({200000}, DType::kFloat32, 1.0, 2.0), 1.0,
                       4.0, 0.03);
  // Variance of the normal distribution cut at two sigma.
  ExpectMoments<double>(ops::truncated_gaussian({200000}, DType::kFloat64), 0.0,
                        0.7737, 0.01);
  const Tensor p = ops::full({200000}, Scalar(20.0), DType::kFloat64);
  ExpectMoments<double>(ops::poisson(p), 20.0, 20.0, 0.1);
  ExpectMoments<double>(ops::exponential(p, 0.5), 2.0, 4.0, 0.05);
}

TEST(RandomTest, UniformNeverReachesItsEnd) {
  const Tensor t =
      ops::uniform({100000}, DType::kBFloat16, Scalar(0.0), Scalar(1.0), 3);
  for (int64_t i = 0; i < t.numel(); ++i) {
    ASSERT_LT(static_cast<float>(t.data<bfloat16>()[i]), 1.f);
  }
}

TEST(RandomTest, MultinomialFollowsTheWeights) {
  SeedAll(3);
  const Tensor weights = ops::full({4}, Scalar(1.0), DType::kFloat32);
  weights.data<float>()[1] = 0;
  weights.data<float>()[3] = 2;
  const Tensor t = ops::multinomial(weights, 40000, true);
  int64_t counts[4] = {};
  for (int64_t i = 0; i < t.numel(); ++i) ++counts[t.data<int64_t>()[i]];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(static_cast<double>(counts[3]) / 40000, 0.5, 0.01);
  const Tensor chosen = ops::multinomial(weights, 3, false);
  const std::set<int64_t> set(chosen.data<int64_t>(),
                              chosen.data<int64_t>() + 3);
  EXPECT_EQ(set, (std::set<int64_t>{0, 2, 3}));
}

}  // namespace
}  // namespace proa
