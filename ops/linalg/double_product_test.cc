#include "ops/linalg/double_product.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/kernel.h"

namespace proa::inline v0::ops {
namespace {

std::vector<double> Numbers(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> one(-1, 1);
  std::vector<double> out(n);
  for (double& v : out) v = one(rng);
  return out;
}

// How an operand lies: by rows, by columns, or with room between all elements.
enum class Order { kRows, kColumns, kApart };

struct Matrix {
  std::vector<double> numbers;
  int64_t row, column;
  Matrix(int64_t rows, int64_t columns, Order order, uint32_t seed) {
    const int64_t step = order == Order::kApart ? 2 : 1;
    row = order == Order::kColumns ? 1 : (columns + 1) * step;
    column = order == Order::kColumns ? rows + 1 : step;
    numbers = Numbers((rows + 1) * (columns + 1) * step, seed);
  }
  double operator()(int64_t i, int64_t j) const {
    return numbers[i * row + j * column];
  }
};

enum class Start { kNothing, kBias, kThere };

// Against sums in long double; nothing is written beside C, and a part of it
// has the bits of the whole.
void ExpectProduct(DoubleProductFunction run, int64_t m, int64_t n, int64_t k,
                   Order a_order, Order b_order, Start start) {
  const Matrix a(m, k, a_order, 1), b(k, n, b_order, 2);
  const std::vector<double> bias = Numbers(n, 3);
  const int64_t c_row = n + 2;
  const std::vector<double> before = Numbers(m * c_row, 4);
  std::vector<double> c = before;
  DoubleProduct p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a.numbers.data();
  p.a_row = a.row;
  p.a_column = a.column;
  p.b = b.numbers.data();
  p.b_row = b.row;
  p.b_column = b.column;
  p.bias = start == Start::kBias ? bias.data() : nullptr;
  p.c = c.data();
  p.c_row = c_row;
  p.accumulate = start == Start::kThere;
  run(p);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      long double sum = start == Start::kBias    ? bias[j]
                        : start == Start::kThere ? before[i * c_row + j]
                                                 : 0;
      for (int64_t q = 0; q < k; ++q)
        sum += static_cast<long double>(a(i, q)) * b(q, j);
      ASSERT_NEAR(c[i * c_row + j], sum, 4e-15 * std::sqrt(k) + 1e-15)
          << m << " " << n << " " << k << ": " << i << " " << j;
    }
    for (int64_t j = n; j < c_row; ++j)
      ASSERT_EQ(c[i * c_row + j], before[i * c_row + j]);
  }
  std::vector<double> part = before;
  const int64_t i = m / 3, j = n / 3;
  p.m -= i;
  p.n -= j;
  p.a += i * p.a_row;
  p.b += j * p.b_column;
  if (p.bias != nullptr) p.bias += j;
  p.c = part.data() + i * c_row + j;
  run(p);
  for (int64_t r = i; r < m; ++r)
    for (int64_t s = j; s < n; ++s)
      ASSERT_EQ(part[r * c_row + s], c[r * c_row + s]) << m << " " << n;
}

TEST(DoubleProductTest, AnySizesAndStrides) {
  const auto all = [](int64_t m, int64_t n, int64_t k) {
    for (Order a : {Order::kRows, Order::kColumns, Order::kApart}) {
      for (Order b : {Order::kRows, Order::kColumns, Order::kApart}) {
        for (Start s : {Start::kNothing, Start::kBias, Start::kThere}) {
          ExpectProduct(&sse2::MultiplyDoubles, m, n, k, a, b, s);
          if (MachineIsa() >= Isa::kAvx2)
            ExpectProduct(&avx2::MultiplyDoubles, m, n, k, a, b, s);
          if (MachineIsa() >= Isa::kAvx512)
            ExpectProduct(&avx512::MultiplyDoubles, m, n, k, a, b, s);
        }
      }
    }
  };
  for (int64_t m : {1, 3, 7, 8, 17})
    for (int64_t n : {1, 7, 16, 24, 25, 53})
      for (int64_t k : {1, 8, 9, 30}) all(m, n, k);
  all(100, 200, 30);  // several blocks of rows and columns
  all(1100, 50, 3);   // columns of A far apart
  all(19, 26, 600);   // several parts of k
}

}  // namespace
}  // namespace proa::inline v0::ops
