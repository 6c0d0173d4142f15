#include "ops/linalg/dot_lines.h"

#include <cmath>
#include <cstdint>
#include <random>
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

// Against sums in double: lines with room between them, results with a step,
// and nothing written beside them.
void ExpectSums(DotLinesFunction dot, int64_t k, int64_t count) {
  const int64_t line_step = k + 3, out_step = 2;
  const std::vector<float> lines = Numbers(count * line_step, 1);
  const std::vector<float> v = Numbers(k, 2);
  std::vector<float> out(count * out_step, -7.f);
  dot(lines.data(), line_step, v.data(), k, count, out.data(), out_step);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t q = 0; q < k; ++q)
      sum += static_cast<double>(lines[i * line_step + q]) * v[q];
    EXPECT_NEAR(out[i * out_step], sum, 1e-6 * std::sqrt(k) + 1e-7) << k;
    EXPECT_EQ(out[i * out_step + 1], -7.f);
    // The same bits without the other lines.
    float alone;
    dot(lines.data() + i * line_step, 0, v.data(), k, 1, &alone, 1);
    EXPECT_EQ(alone, out[i * out_step]) << k;
  }
}

TEST(DotLinesTest, SumsOfAnyLengths) {
  for (int64_t k : {0, 1, 7, 15, 16, 17, 63, 64, 65, 127, 129, 1000}) {
    for (int64_t count : {0, 1, 3, 4, 5, 9}) {
      ExpectSums(&sse2::DotLines, k, count);
      if (MachineIsa() >= Isa::kAvx2) ExpectSums(&avx2::DotLines, k, count);
      if (MachineIsa() >= Isa::kAvx512) ExpectSums(&avx512::DotLines, k, count);
    }
  }
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
