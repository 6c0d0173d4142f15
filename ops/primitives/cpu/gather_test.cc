#include "ops/primitives/cpu/gather.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa {
namespace {

using ops::cpu::IndexList;

// Sizes that take each way of sharing the work: by outer, by columns, by
// destination.
struct Case {
  int64_t outer, n, inner, count;
};
const Case kCases[] = {{1, 10, 3, 7},       {64, 50, 8, 300},
                       {1, 100, 1024, 300}, {1, 1000, 4, 50000},
                       {2, 333, 5, 20000},  {1, 5, 1, 100000},
                       {3, 7, 1, 0},        {1, 4, 100000, 3}};

std::vector<int64_t> RandomIndices(const Case& c) {
  std::mt19937 rng(5);
  std::vector<int64_t> index(c.count);
  for (int64_t& i : index) i = static_cast<int64_t>(rng() % c.n);
  return index;
}

std::vector<float> Values(int64_t n) {
  std::vector<float> v(n);
  for (int64_t i = 0; i < n; ++i)
    v[i] = static_cast<float>(i * 2654435761u % 1009) * 0.37f;
  return v;
}

TEST(GatherTest, Rows) {
  for (const Case& c : kCases) {
    const auto index = RandomIndices(c);
    const auto x = Values(c.outer * c.n * c.inner);
    std::vector<float> out(c.outer * c.count * c.inner, -1);
    ops::cpu::GatherRows(c.outer, c.n, c.inner * 4, index, x.data(),
                         out.data());
    for (int64_t o = 0; o < c.outer; ++o) {
      for (int64_t k = 0; k < c.count; ++k) {
        for (int64_t j = 0; j < c.inner; ++j) {
          ASSERT_EQ(out[(o * c.count + k) * c.inner + j],
                    x[(o * c.n + index[k]) * c.inner + j]);
        }
      }
    }
  }
}

TEST(GatherTest, AddAndOverwriteGiveTheSameBitsForAnyThreads) {
  for (const Case& c : kCases) {
    const auto index = RandomIndices(c);
    const auto src = Values(c.outer * c.count * c.inner);
    std::vector<float> sum(c.outer * c.n * c.inner, 1.f), last = sum;
    for (int64_t o = 0; o < c.outer; ++o) {
      for (int64_t k = 0; k < c.count; ++k) {
        for (int64_t j = 0; j < c.inner; ++j) {
          const int64_t to = (o * c.n + index[k]) * c.inner + j;
          sum[to] += src[(o * c.count + k) * c.inner + j];
          last[to] = src[(o * c.count + k) * c.inner + j];
        }
      }
    }
    for (int threads : {1, 2, 5}) {
      SetNumThreads(threads);
      std::vector<float> got(sum.size(), 1.f);
      ops::cpu::ScatterAddRows(DType::kFloat32, c.outer, c.n, c.inner, index,
                               src.data(), got.data());
      EXPECT_EQ(got, sum) << threads << " threads";
      got.assign(sum.size(), 1.f);
      ops::cpu::ScatterRows(c.outer, c.n, c.inner * 4, index, src.data(),
                            got.data());
      EXPECT_EQ(got, last) << threads << " threads";
    }
  }
}

TEST(GatherTest, HalfRowsThatAreNotNamedStayAsTheyAre) {
  // [2, 4, 2], rows 3, 1 and 3 again; row 0 holds a signaling NaN.
  const std::vector<int64_t> index = {3, 1, 3};
  std::vector<bfloat16> out(2 * 4 * 2, bfloat16(10.f));
  out[0] = bfloat16::FromBits(0x7f81);
  std::vector<bfloat16> src;
  for (int i = 0; i < 2 * 3 * 2; ++i)
    src.push_back(bfloat16(static_cast<float>(i)));
  ops::cpu::ScatterAddRows(DType::kBFloat16, 2, 4, 2, index, src.data(),
                           out.data());
  EXPECT_EQ(out[0].bits(), 0x7f81);
  const float expected[] = {10, 10, 12, 13, 10, 10, 14, 16,
                            10, 10, 18, 19, 10, 10, 26, 28};
  for (int i = 1; i < 16; ++i)
    EXPECT_EQ(static_cast<float>(out[i]), expected[i]) << i;
}

TEST(GatherTest, HalvesAddUpInFloat) {
  // 4096 times 1 is beyond what float16 can count to by ones (2048).
  const std::vector<int64_t> index(4096, 0);
  const std::vector<float16> ones(4096, float16(1.f));
  float16 sum(0.f);
  ops::cpu::ScatterAddRows(DType::kFloat16, 1, 1, 1, index, ones.data(), &sum);
  EXPECT_EQ(static_cast<float>(sum), 4096.f);
}

TEST(GatherTest, IndicesAreChecked) {
  const Tensor index = Tensor::Empty({2, 2}, DType::kInt32);
  int32_t* v = index.data<int32_t>();
  v[0] = 0, v[1] = -1, v[2] = 2, v[3] = 3;
  try {
    const IndexList list("gather", index, 3, 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(
        std::string(e.what()),
        "gather: index 3 at [1, 1] is out of range for dim 1 of size 3; valid "
        "are -3 to 2");
  }
  v[3] = -3;
  const IndexList list("gather", index, 3, 1);
  EXPECT_EQ(std::vector<int64_t>(list.values().begin(), list.values().end()),
            (std::vector<int64_t>{0, 2, 2, 0}));
  EXPECT_THROW(IndexList("embedding", index, 3, 0, /*negative=*/false), Error);
}

template <typename T>
void ExpectBadIndexIsFound(int64_t size, T bad) {
  for (int64_t count : {1, 3, 4, 8, 21}) {
    const Tensor index = Tensor::Empty({count}, kDTypeOf<T>);
    for (int64_t place = 0; place < count; ++place) {
      std::fill_n(index.data<T>(), count, static_cast<T>(size - 1));
      const IndexList good("gather", index, size, 0, false);
      EXPECT_EQ(good[place], size - 1);
      index.data<T>()[place] = bad;
      EXPECT_THROW(IndexList("gather", index, size, 0, false), Error)
          << bad << " at " << place << " of " << count;
    }
  }
}

TEST(GatherTest, ABadIndexIsFoundAnywhere) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int64_t bad : {int64_t{-1}, int64_t{5}, kLeast, kLeast + 1, kMost})
    ExpectBadIndexIsFound<int64_t>(5, bad);
  ExpectBadIndexIsFound<int64_t>(kMost, kMost);
  ExpectBadIndexIsFound<int64_t>(kMost, kLeast);
  for (int32_t bad : {-1, 5, std::numeric_limits<int32_t>::min(),
                      std::numeric_limits<int32_t>::max()})
    ExpectBadIndexIsFound<int32_t>(5, bad);
  // A size beyond the type of the indices.
  const Tensor index = Tensor::Empty({9}, DType::kInt32);
  std::fill_n(index.data<int32_t>(), 9, std::numeric_limits<int32_t>::max());
  const IndexList list("gather", index, int64_t{1} << 40, 0);
  EXPECT_EQ(list[8], std::numeric_limits<int32_t>::max());
}

TEST(GatherTest, PlainInt64IndicesAreNotCopied) {
  const Tensor index = Tensor::Empty({3}, DType::kInt64);
  for (int i = 0; i < 3; ++i) index.data<int64_t>()[i] = i;
  const IndexList list("gather", index, 3, 0);
  EXPECT_EQ(list.values().data(), index.data<int64_t>());
}

TEST(GatherTest, LastWriters) {
  EXPECT_EQ(ops::cpu::LastWriters(std::vector<int64_t>{1, 0, 1, 2}, 3),
            (std::vector<bool>{false, true, true, true}));
}

}  // namespace
}  // namespace proa
