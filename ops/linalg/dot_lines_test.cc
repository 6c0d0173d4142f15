#include "ops/linalg/dot_lines.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/kernel.h"

namespace proa::inline v0::ops {
namespace {

std::vector<float> Numbers(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> one(-1, 1);
  std::vector<float> out(n);
  for (float& v : out) v = one(rng);
  return out;
}

// Of T from -1 to 1, or integers whose products leave their range.
template <typename T>
std::vector<T> NumbersOf(int64_t n, uint32_t seed) {
  if constexpr (std::is_integral_v<T>) {
    std::mt19937_64 rng(seed);
    std::vector<T> out(n);
    for (T& v : out) v = static_cast<T>(rng());
    return out;
  } else {
    const std::vector<float> numbers = Numbers(n, seed);
    return std::vector<T>(numbers.begin(), numbers.end());
  }
}

// Against sums in long double, of integers in unsigned ones: lines with room
// between them, results with a step, and nothing written beside them.
template <typename T>
void ExpectSums(DotLinesFunction<T> dot, int64_t k, int64_t count) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, long double>;
  const int64_t line_step = k + 3, out_step = 2;
  const std::vector<T> lines = NumbersOf<T>(count * line_step, 1);
  const std::vector<T> v = NumbersOf<T>(k, 2);
  std::vector<T> out(count * out_step, T(-7));
  dot(lines.data(), line_step, v.data(), k, count, out.data(), out_step);
  for (int64_t i = 0; i < count; ++i) {
    Wide sum = 0;
    for (int64_t q = 0; q < k; ++q)
      sum +=
          static_cast<Wide>(lines[i * line_step + q]) * static_cast<Wide>(v[q]);
    if constexpr (std::is_integral_v<T>) {
      EXPECT_EQ(out[i * out_step], static_cast<T>(sum)) << k;
    } else {
      const double unit = 8 * std::numeric_limits<T>::epsilon();
      EXPECT_NEAR(out[i * out_step], static_cast<double>(sum),
                  unit * (std::sqrt(k) + 0.1))
          << k;
    }
    EXPECT_EQ(out[i * out_step + 1], T(-7));
    // The same bits without the other lines.
    T alone;
    dot(lines.data() + i * line_step, 0, v.data(), k, 1, &alone, 1);
    EXPECT_EQ(alone, out[i * out_step]) << k;
  }
}

template <typename T>
void ExpectSumsOfAnyLengths() {
  for (int64_t k :
       {0, 1, 7, 8, 15, 16, 17, 31, 32, 63, 64, 65, 127, 129, 1000}) {
    for (int64_t count : {0, 1, 3, 4, 5, 9}) {
      ExpectSums<T>(&sse2::DotLines, k, count);
      if (MachineIsa() >= Isa::kAvx2) ExpectSums<T>(&avx2::DotLines, k, count);
      if (MachineIsa() >= Isa::kAvx512)
        ExpectSums<T>(&avx512::DotLines, k, count);
    }
  }
}

TEST(DotLinesTest, SumsOfAnyLengths) {
  ExpectSumsOfAnyLengths<float>();
  ExpectSumsOfAnyLengths<double>();
  ExpectSumsOfAnyLengths<int32_t>();
  ExpectSumsOfAnyLengths<int64_t>();
}

void ExpectRows(AddRowsFunction add, int64_t k, int64_t count) {
  const int64_t row_step = count + 3, v_step = 2;
  const std::vector<float> rows = Numbers(k * row_step, 1);
  const std::vector<float> v = Numbers(k * v_step, 2);
  const std::vector<float> before = Numbers(count + 1, 3);
  std::vector<float> out = before, parts = before;
  add(rows.data(), row_step, v.data(), v_step, k, count, out.data());
  EXPECT_EQ(out[count], before[count]);
  for (int64_t j = 0; j < count; ++j) {
    double sum = before[j];
    for (int64_t q = 0; q < k; ++q)
      sum += static_cast<double>(rows[q * row_step + j]) * v[q * v_step];
    EXPECT_NEAR(out[j], sum, 3e-6 * std::sqrt(k) + 1e-6) << k << " " << count;
  }
  // The same bits in pieces.
  const int64_t cut = count / 32 * 16;
  add(rows.data(), row_step, v.data(), v_step, k, cut, parts.data());
  add(rows.data() + cut, row_step, v.data(), v_step, k, count - cut,
      parts.data() + cut);
  EXPECT_EQ(out, parts) << k << " " << count;
}

TEST(DotLinesTest, SumsOfRowsOfAnyLengths) {
  for (int64_t k : {0, 1, 7, 8, 9, 16, 100, 1000}) {
    for (int64_t count : {0, 1, 15, 16, 17, 64, 65, 321}) {
      ExpectRows(&sse2::AddRows, k, count);
      if (MachineIsa() >= Isa::kAvx2) ExpectRows(&avx2::AddRows, k, count);
      if (MachineIsa() >= Isa::kAvx512) ExpectRows(&avx512::AddRows, k, count);
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
