#include "ops/primitives/cpu/strided_add.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/parallel.h"

namespace proa {
namespace {

void Check(const Shape& shape, const Strides& dst_strides,
           const Strides& src_strides, int64_t dst_size) {
  std::vector<double> src(1 << 20);
  for (size_t i = 0; i < src.size(); ++i)
    src[i] = static_cast<double>(i % 1009) * 0.5;
  std::vector<double> want(dst_size, 1.0);
  for (int64_t k = 0; k < shape.numel(); ++k) {
    int64_t rest = k, to = 0, from = 0;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      to += rest % shape[d] * dst_strides[d];
      from += rest % shape[d] * src_strides[d];
      rest /= shape[d];
    }
    want[to] += src[from];
  }
  for (int threads : {1, 3}) {
    SetNumThreads(threads);
    std::vector<double> got(dst_size, 1.0);
    ops::cpu::StridedAdd(DType::kFloat64, shape, got.data(), dst_strides,
                         src.data(), src_strides);
    // Multiples of a half: sums are exact in any order.
    EXPECT_EQ(got, want) << ToString(shape) << ", " << threads << " threads";
  }
}

TEST(StridedAddTest, AllWays) {
  Check({}, {}, {}, 1);
  Check({0, 2}, {2, 1}, {2, 1}, 4);
  Check({500, 300}, {300, 1}, {300, 1}, 150000);
  Check({500, 300}, {1, 500}, {300, 1}, 150000);
  Check({500, 300}, {0, 1}, {300, 1}, 300);  // sums over rows
  Check({500, 300}, {1, 0}, {300, 1}, 500);  // sums over columns
  Check({100000}, {0}, {1}, 1);
  Check({7, 50, 400}, {400, 0, 1}, {20000, 400, 1}, 2800);
}

// Windows that share elements: with threads that share none a sum was lost now
// and then, so each is computed often.
TEST(StridedAddTest, WindowsThatOverlap) {
  for (int again = 0; again < 20; ++again) {
    // Rows apart, windows in them not.
    Check({156, 272, 3}, {546, 2, 1}, {816, 3, 1}, 156 * 546);
    Check({2, 200000, 2}, {200001, 1, 1}, {400000, 2, 1}, 2 * 200001);
    // Windows of one line: of few and of many steps of each other, in order or
    // back.
    Check({100000, 3}, {1, 1}, {3, 1}, 100002);
    Check({3, 100000}, {1, 1}, {100000, 1}, 100002);
    Check({1000, 400}, {100, 1}, {400, 1}, 100300);
    Check({1000, 400}, {7, 1}, {400, 1}, 7393);
    Check({20, 5000}, {3, 1}, {5000, 1}, 5057);
    // Windows of a plane, and sums over a dim as well.
    Check({60, 60, 5, 5}, {64, 1, 64, 1}, {1500, 25, 5, 1}, 4096);
    Check({300, 4, 300}, {1, 0, 1}, {1200, 300, 1}, 599);
    // Two rows that cross.
    Check({2, 100000}, {50000, 1}, {100000, 1}, 150000);
  }
}

}  // namespace
}  // namespace proa
