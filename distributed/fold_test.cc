#include "distributed/fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "tensor/error.h"

namespace proa::distributed {
namespace {

// Folds what the ranks have, each given in two pieces cut at `cut`.
template <typename T>
std::vector<T> Folded(ReduceOp reduce, DType dtype,
                      const std::vector<std::vector<T>>& ranks,
                      size_t cut = 0) {
  const size_t n = ranks[0].size();
  Fold fold(reduce, dtype, static_cast<int>(ranks.size()), n);
  std::vector<T> out(n);
  fold.Start(out.data(), ranks[0].data(), ranks[1].data(), 0, cut);
  fold.Start(out.data(), ranks[0].data() + cut, ranks[1].data() + cut, cut,
             n - cut);
  for (size_t r = 2; r < ranks.size(); ++r) {
    fold.Add(out.data(), ranks[r].data(), 0, cut);
    fold.Add(out.data(), ranks[r].data() + cut, cut, n - cut);
  }
  fold.Finish(out.data(), n);
  return out;
}

TEST(FoldTest, CombinesInTheOrderOfRanks) {
  // 1e8 + 1 is 1e8 in float32, so another order gives another sum.
  const std::vector<std::vector<float>> ranks = {{1e8f}, {1.f}, {-1e8f}, {3.f}};
  EXPECT_EQ(Folded(ReduceOp::kSum, DType::kFloat32, ranks)[0], 3.f);
  EXPECT_EQ(Folded(ReduceOp::kAvg, DType::kFloat32, ranks)[0], 0.75f);
  EXPECT_EQ(Folded(ReduceOp::kMin, DType::kFloat32, ranks)[0], -1e8f);
  EXPECT_EQ(Folded(ReduceOp::kMax, DType::kFloat32, ranks)[0], 1e8f);
}

TEST(FoldTest, PiecesChangeNothing) {
  std::vector<std::vector<double>> ranks(3);
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < 7; ++i) ranks[r].push_back(0.1 * i + r / 3.0);
  }
  const auto whole = Folded(ReduceOp::kProd, DType::kFloat64, ranks);
  for (size_t cut = 1; cut <= 7; ++cut) {
    EXPECT_EQ(Folded(ReduceOp::kProd, DType::kFloat64, ranks, cut), whole);
  }
}

TEST(FoldTest, NothingIsCombinedToNothing) {
  const std::vector<std::vector<float>> ranks(3);
  EXPECT_TRUE(Folded(ReduceOp::kAvg, DType::kFloat32, ranks).empty());
}

// Half floats are rounded once, at the end: 256 + 1 is 256 in bfloat16.
TEST(FoldTest, HalfIsRoundedOnce) {
  const std::vector<std::vector<bfloat16>> b = {
      {bfloat16(256.f)}, {bfloat16(1.f)}, {bfloat16(1.f)}};
  EXPECT_EQ(float(Folded(ReduceOp::kSum, DType::kBFloat16, b)[0]), 258.f);
  const std::vector<std::vector<float16>> h = {
      {float16(2048.f)}, {float16(1.f)}, {float16(1.f)}};
  EXPECT_EQ(float(Folded(ReduceOp::kSum, DType::kFloat16, h)[0]), 2050.f);
  // The sum would be infinite, the mean is not.
  const std::vector<std::vector<float16>> large = {{float16(60000.f)},
                                                   {float16(60000.f)}};
  EXPECT_EQ(float(Folded(ReduceOp::kAvg, DType::kFloat16, large)[0]),
            float(float16(60000.f)));
}

TEST(FoldTest, NanWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp r : {ReduceOp::kMin, ReduceOp::kMax}) {
    const auto out =
        Folded<float>(r, DType::kFloat32, {{nan, 1.f}, {1.f, nan}, {0.f, 2.f}});
    EXPECT_TRUE(std::isnan(out[0])) << Name(r);
    EXPECT_TRUE(std::isnan(out[1])) << Name(r);
    const bfloat16 one(1.f), no(nan);
    const auto half = Folded<bfloat16>(r, DType::kBFloat16,
                                       {{no, one}, {one, no}, {one, one}});
    EXPECT_TRUE(std::isnan(float(half[0]))) << Name(r);
    EXPECT_TRUE(std::isnan(float(half[1]))) << Name(r);
  }
}

TEST(FoldTest, IntegersWrapAround) {
  using Limits = std::numeric_limits<int32_t>;
  EXPECT_EQ(
      Folded<int32_t>(ReduceOp::kSum, DType::kInt32, {{Limits::max()}, {1}})[0],
      Limits::min());
  EXPECT_EQ(Folded<int8_t>(ReduceOp::kProd, DType::kInt8, {{16}, {16}})[0], 0);
  EXPECT_EQ(Folded<uint8_t>(ReduceOp::kMin, DType::kUInt8, {{200}, {100}})[0],
            100);
  const int64_t odd = (int64_t{1} << 53) + 1;  // no double
  EXPECT_EQ(Folded<int64_t>(ReduceOp::kMax, DType::kInt64, {{odd}, {0}})[0],
            odd);
}

TEST(FoldTest, BoolIsOrAndAnd) {
  // std::vector<bool> has no elements of bool: bytes stand for them.
  const std::vector<std::vector<char>> ranks = {
      {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}};
  const std::vector<char> any = {0, 1, 1, 1}, all = {0, 0, 0, 1};
  EXPECT_EQ(Folded(ReduceOp::kSum, DType::kBool, ranks), any);
  EXPECT_EQ(Folded(ReduceOp::kMax, DType::kBool, ranks), any);
  EXPECT_EQ(Folded(ReduceOp::kProd, DType::kBool, ranks), all);
  EXPECT_EQ(Folded(ReduceOp::kMin, DType::kBool, ranks), all);
}

TEST(FoldTest, ComplexNumbers) {
  using C = std::complex<float>;
  const std::vector<std::vector<C>> ranks = {{C(1, 2)}, {C(3, -1)}};
  EXPECT_EQ(Folded(ReduceOp::kAvg, DType::kComplex64, ranks)[0], C(2, 0.5f));
  EXPECT_EQ(Folded(ReduceOp::kProd, DType::kComplex64, ranks)[0], C(5, 5));
}

TEST(FoldTest, RefusesWhatMeansNothing) {
  for (const ReduceOp r : {ReduceOp::kMin, ReduceOp::kMax}) {
    EXPECT_THROW(RequireFoldable("all_reduce", r, DType::kComplex64),
                 TypeError);
    EXPECT_NO_THROW(RequireFoldable("all_reduce", r, DType::kBool));
  }
  EXPECT_THROW(RequireFoldable("all_reduce", ReduceOp::kAvg, DType::kBool),
               TypeError);
  try {
    RequireFoldable("reduce_scatter", ReduceOp::kAvg, DType::kInt64);
    FAIL();
  } catch (const TypeError& e) {
    EXPECT_NE(std::string(e.what()).find(
                  "reduce_scatter: avg means nothing for int64; convert to a "
                  "float first, or take sum"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace proa::distributed
