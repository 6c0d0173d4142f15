#include "ops/primitives/cpu/sort.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/parallel.h"

namespace proa {
namespace {

using ops::cpu::SortKey;

template <typename T>
void ExpectRising(const std::vector<T>& values) {
  for (size_t i = 1; i < values.size(); ++i) {
    EXPECT_LT(SortKey(values[i - 1]), SortKey(values[i])) << i;
  }
}

TEST(SortTest, KeysHaveTheOrderOfValues) {
  ExpectRising<int8_t>({-128, -1, 0, 1, 127});
  ExpectRising<uint8_t>({0, 1, 127, 128, 255});
  ExpectRising<bool>({false, true});
  ExpectRising<int64_t>({INT64_MIN, -1, 0, 1, INT64_MAX});
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::nan("");
  ExpectRising<double>(
      {-inf, -1e300, -1, -5e-324, 0, 5e-324, 1, 1e300, inf, nan});
  ExpectRising<float>({-HUGE_VALF, -1, -1e-45f, 0, 1e-45f, 1, HUGE_VALF, NAN});
  EXPECT_EQ(SortKey(-0.0), SortKey(0.0));
  EXPECT_EQ(SortKey(-nan), SortKey(nan));
  std::vector<float16> halves;
  for (float v : {-HUGE_VALF, -2.f, -6e-8f, 0.f, 6e-8f, 2.f, HUGE_VALF, NAN}) {
    halves.push_back(float16(v));
  }
  ExpectRising(halves);
  EXPECT_EQ(SortKey(float16(-0.f)), SortKey(float16(0.f)));
}

TEST(SortTest, LinesAreSortedStablyOverStrides) {
  std::mt19937 rng(3);
  const Shape shape{4, 1000, 3};
  std::vector<int32_t> x(shape.numel());
  for (int32_t& v : x) v = static_cast<int32_t>(rng() % 50) - 25;
  const ops::cpu::Lines lines(shape, 1);
  for (bool descending : {false, true}) {
    ops::cpu::SortLines(
        x.data(), lines, descending, [&](int64_t line, const auto& items) {
          const int32_t* from = x.data() + lines.Start(line, lines.n);
          for (int64_t k = 1; k < lines.n; ++k) {
            const int32_t a = from[items[k - 1].index * lines.stride];
            const int32_t b = from[items[k].index * lines.stride];
            EXPECT_TRUE(descending ? a >= b : a <= b);
            if (a == b) {
              EXPECT_LT(items[k - 1].index, items[k].index);
            }
          }
        });
  }
}

TEST(SortTest, SelectionIsTheBeginningOfTheOrder) {
  std::mt19937 rng(4);
  std::vector<float> x(5000);
  for (float& v : x) v = static_cast<float>(rng() % 700);
  x[17] = NAN;
  const ops::cpu::Lines lines({5000}, 0);
  std::vector<int64_t> order;
  ops::cpu::SortLines(x.data(), lines, true, [&](int64_t, const auto& items) {
    for (const auto& item : items) order.push_back(item.index);
  });
  EXPECT_EQ(order[0], 17);
  for (int64_t k : {1, 2, 7, 32, 33, 300, 2000, 5000}) {
    std::vector<int64_t> chosen;
    ops::cpu::SelectLines(x.data(), lines, k, true,
                          [&](int64_t, const auto& items) {
                            for (const auto& item : items)
                              chosen.push_back(item.index);
                          });
    EXPECT_EQ(chosen, std::vector(order.begin(), order.begin() + k)) << k;
  }
}

// Of few of many, elements go by in blocks: wherever the first ones stand.
template <typename T>
void ExpectSelection(int64_t n, int64_t stride, bool descending) {
  std::mt19937 rng(static_cast<uint32_t>(n));
  std::vector<T> x(n * stride);
  for (T& v : x) v = static_cast<T>(rng() % 100);
  if constexpr (std::is_floating_point_v<T>) x[(n / 2) * stride] = NAN;
  const ops::cpu::Lines lines({n, stride}, 0);
  for (int64_t place = 0; place < n; place += 5) {
    std::vector<T> y = x;
    y[place * stride] = static_cast<T>(descending ? 120 : 0);
    for (int64_t k : {1, 2, 5}) {
      std::vector<std::vector<int64_t>> order, chosen;
      const auto append = [k](auto* to) {
        return [to, k](int64_t, const auto& items) {
          to->emplace_back();
          for (int64_t i = 0; i < k; ++i) to->back().push_back(items[i].index);
        };
      };
      ops::cpu::SortLines(y.data(), lines, descending, append(&order));
      ops::cpu::SelectLines(y.data(), lines, k, descending, append(&chosen));
      ASSERT_EQ(chosen, order) << n << " " << place << " " << k;
    }
  }
}

TEST(SortTest, SelectionFindsTheFirstOnesWhereverTheyStand) {
  SetNumThreads(1);  // lines in their order
  for (int64_t n : {20, 48, 67}) {
    for (int64_t stride : {1, 3}) {
      for (bool descending : {false, true}) {
        ExpectSelection<float>(n, stride, descending);
        ExpectSelection<double>(n, stride, descending);
        ExpectSelection<int64_t>(n, stride, descending);
        ExpectSelection<uint8_t>(n, stride, descending);
        ExpectSelection<int8_t>(n, stride, descending);
      }
    }
  }
}

}  // namespace
}  // namespace proa
