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

}  // namespace
}  // namespace proa
