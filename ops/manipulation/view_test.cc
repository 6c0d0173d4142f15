// What the conformance suite cannot see: which results share storage.
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "tensor/memory_order.h"
#include "tensor/tensor.h"

namespace proa {
namespace {

Tensor Iota(const Shape& shape) {
  const Tensor t = Tensor::Empty(shape, DType::kInt64);
  std::iota(t.data<int64_t>(), t.data<int64_t>() + t.numel(), int64_t{0});
  return t;
}

bool Shares(const Tensor& a, const Tensor& b) {
  return a.storage().get() == b.storage().get();
}

TEST(ViewTest, ReshapeIsAViewWhereStridesAllowIt) {
  const Tensor x = Iota({4, 6});
  EXPECT_TRUE(Shares(x, ops::reshape(x, {2, 12})));
  const Tensor t = ops::transpose(x, std::vector<int64_t>{1, 0});  // [6, 4]
  EXPECT_TRUE(Shares(x, ops::reshape(t, {2, 3, 4})));              // cuts a dim
  EXPECT_TRUE(Shares(x, ops::reshape(t, {6, 1, 4, 1})));
  EXPECT_FALSE(Shares(x, ops::reshape(t, {24})));  // joins dims out of order
  EXPECT_FALSE(Shares(x, ops::reshape(t, {3, 8})));
  // Rows with a gap: dims join above it only.
  const std::vector<int64_t> axis{1}, start{0}, end{4};
  const Tensor part =
      ops::slice(Iota({2, 3, 6}), std::vector<int64_t>{2}, start, end, {});
  EXPECT_TRUE(Shares(part, ops::reshape(part, {6, 4})));
  EXPECT_TRUE(Shares(part, ops::reshape(part, {6, 2, 2})));
  EXPECT_FALSE(Shares(part, ops::reshape(part, {2, 12})));
}

TEST(ViewTest, ReshapedViewsHaveTheRightElements) {
  const Tensor x = Iota({2, 3, 6});
  const std::vector<int64_t> axis{2}, start{0}, end{4};
  const Tensor part = ops::slice(x, axis, start, end, {});
  const Tensor r = ops::reshape(part, {6, 2, 2});
  const auto at = [&](int64_t i, int64_t j, int64_t k) {
    return r.data<int64_t>()[i * r.strides()[0] + j * r.strides()[1] +
                             k * r.strides()[2]];
  };
  EXPECT_EQ(at(0, 1, 1), 3);
  EXPECT_EQ(at(5, 0, 0), 30);
  EXPECT_EQ(at(5, 1, 0), 32);
}

TEST(ViewTest, ShuffledChannelsStayChannelsLast) {
  const std::vector<int64_t> turned{0, 3, 1, 2}, shuffled{0, 2, 1, 3, 4};
  const Tensor image = ops::transpose(Iota({2, 3, 5, 6}), turned);
  ASSERT_TRUE(LiesIn(image, MemoryOrder::kChannelsLast));
  const Tensor parts =
      ops::transpose(ops::reshape(image, {2, 2, 3, 3, 5}), shuffled);
  const Tensor out = ops::reshape(parts, {2, 6, 3, 5});
  EXPECT_EQ(OrderOf(out), MemoryOrder::kChannelsLast);
  EXPECT_FALSE(Shares(parts, out));
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 6; ++c) {
      for (int64_t p = 0; p < 15; ++p) {
        const int64_t from = c % 2 * 3 + c / 2;
        EXPECT_EQ(out.data<int64_t>()[(n * 15 + p) * 6 + c],
                  (n * 15 + p) * 6 + from);
      }
    }
  }
  // Rows of one pixel after the other are no image.
  const Tensor rows = ops::reshape(
      ops::transpose(Iota({2, 2, 3, 3, 5}), shuffled), {2, 6, 3, 5});
  EXPECT_EQ(OrderOf(rows), MemoryOrder::kRowMajor);
}

TEST(ViewTest, ShuffledPixelsStayChannelsLast) {
  const std::vector<int64_t> turned{0, 3, 1, 2};
  const Tensor image = ops::transpose(Iota({2, 3, 5, 12}), turned);
  const auto value = [](const Tensor& t, int64_t n, int64_t c, int64_t h,
                        int64_t w) {
    const Strides& s = t.strides();
    return t.data<int64_t>()[n * s[0] + c * s[1] + h * s[2] + w * s[3]];
  };
  // Channels become pixels, and pixels channels again.
  const std::vector<int64_t> out_of{0, 1, 4, 2, 5, 3};
  const std::vector<int64_t> back{0, 1, 3, 5, 2, 4};
  const Tensor wide = ops::reshape(
      ops::transpose(ops::reshape(image, {2, 3, 2, 2, 3, 5}), out_of),
      {2, 3, 6, 10});
  EXPECT_EQ(OrderOf(wide), MemoryOrder::kChannelsLast);
  const Tensor deep =
      ops::reshape(ops::transpose(ops::reshape(wide, {2, 3, 3, 2, 5, 2}), back),
                   {2, 12, 3, 5});
  EXPECT_EQ(OrderOf(deep), MemoryOrder::kChannelsLast);
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 12; ++c) {
      for (int64_t h = 0; h < 3; ++h) {
        for (int64_t w = 0; w < 5; ++w) {
          const int64_t from = value(image, n, c, h, w);
          EXPECT_EQ(value(deep, n, c, h, w), from);
          EXPECT_EQ(value(wide, n, c / 4, h * 2 + c / 2 % 2, w * 2 + c % 2),
                    from);
        }
      }
    }
  }
  // Of a row-major image they are row-major.
  const Tensor rows = ops::reshape(
      ops::transpose(Iota({2, 3, 2, 2, 3, 5}), out_of), {2, 3, 6, 10});
  EXPECT_TRUE(rows.is_contiguous());
  const Tensor parts = ops::reshape(
      ops::transpose(Iota({2, 3, 3, 2, 5, 2}), back), {2, 12, 3, 5});
  EXPECT_TRUE(parts.is_contiguous());
  // Heads of an attention over pixels [B, heads, H, W, d] are no image's.
  const std::vector<int64_t> joined{0, 2, 3, 1, 4};
  EXPECT_TRUE(
      ops::reshape(ops::transpose(Iota({2, 3, 4, 5, 6}), joined), {2, 4, 5, 18})
          .is_contiguous());
}

TEST(ViewTest, SplitUnbindAndBroadcastShare) {
  const Tensor x = Iota({4, 6});
  for (const Tensor& t : ops::split(x, IntArray({2, 4}), 1)) {
    EXPECT_TRUE(Shares(x, t));
    EXPECT_TRUE(t.is_view());
  }
  EXPECT_TRUE(Shares(x, ops::unbind(x, 0)[3]));
  const Tensor b = ops::broadcast_to(x, {1000, 4, 6});
  EXPECT_TRUE(Shares(x, b));
  EXPECT_EQ(b.strides()[0], 0);
  EXPECT_TRUE(Shares(x, ops::diagonal(x)));
}

TEST(ViewTest, ViewsOfContiguousTensorsStayContiguous) {
  const Tensor x = Iota({4, 6});
  EXPECT_TRUE(
      ops::unsqueeze(x, std::vector<int64_t>{0, 2, -1}).is_contiguous());
  EXPECT_TRUE(ops::unbind(x, 0)[2].is_contiguous());
  EXPECT_TRUE(ops::flatten(x).is_contiguous());
}

}  // namespace
}  // namespace proa
