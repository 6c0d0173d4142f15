#include "tensor/memory_order.h"

#include <gtest/gtest.h>

#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

Tensor Numbers(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = static_cast<float>(i);
  return t;
}

TEST(MemoryOrderTest, ChannelsLastHoldsTheSameElements) {
  const Tensor x = Numbers({2, 3, 4, 5});
  const Tensor y = InOrder(x, MemoryOrder::kChannelsLast);
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_EQ(y.strides(), (Strides{60, 1, 15, 3}));
  EXPECT_FALSE(y.is_contiguous());
  EXPECT_TRUE(LiesIn(y, MemoryOrder::kChannelsLast));
  EXPECT_EQ(OrderOf(y), MemoryOrder::kChannelsLast);
  EXPECT_EQ(OrderOf(x), MemoryOrder::kRowMajor);
  const Tensor nhwc = AsNhwc(y);
  EXPECT_TRUE(nhwc.is_contiguous());
  EXPECT_EQ(nhwc.shape(), (Shape{2, 4, 5, 3}));
  EXPECT_EQ(nhwc.data<float>()[1], 20.f);  // x[0, 1, 0, 0]
  const Tensor back = InOrder(y, MemoryOrder::kRowMajor);
  for (int64_t i = 0; i < x.numel(); ++i)
    EXPECT_EQ(back.data<float>()[i], static_cast<float>(i));
}

TEST(MemoryOrderTest, ImagesOfOneAndThreeDims) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{2, 3, 4, 5, 2}}) {
    const Tensor x = Numbers(shape);
    const Tensor y = InOrder(x, MemoryOrder::kChannelsLast);
    EXPECT_EQ(y.strides()[1], 1);
    EXPECT_EQ(y.strides()[shape.rank() - 1], 3);
    EXPECT_EQ(OrderOf(y), MemoryOrder::kChannelsLast);
    const Tensor last = AsNhwc(y);
    EXPECT_TRUE(last.is_contiguous());
    EXPECT_EQ(last.size(1), 4);
    EXPECT_EQ(last.size(shape.rank() - 1), 3);
    // x[0, 1, 0, ...]
    EXPECT_EQ(last.data<float>()[1], static_cast<float>(x.strides()[1]));
    const Tensor back = InOrder(y, MemoryOrder::kRowMajor);
    for (int64_t i = 0; i < x.numel(); ++i)
      EXPECT_EQ(back.data<float>()[i], static_cast<float>(i));
  }
}

TEST(MemoryOrderTest, WhatLiesInBothOrdersIsNotCopied) {
  for (const Shape& shape :
       {Shape{2, 1, 4, 5}, Shape{2, 3, 1, 1}, Shape{0, 3, 4, 5}}) {
    const Tensor x = Numbers(shape);
    EXPECT_TRUE(LiesIn(x, MemoryOrder::kChannelsLast));
    EXPECT_TRUE(InOrder(x, MemoryOrder::kChannelsLast).is_same(x));
    EXPECT_EQ(OrderOf(x), MemoryOrder::kRowMajor);
  }
}

TEST(MemoryOrderTest, OtherRanksAndViewsAreRowMajor) {
  const Tensor x = Numbers({3, 4});
  EXPECT_FALSE(LiesIn(x, MemoryOrder::kChannelsLast));
  EXPECT_TRUE(InOrder(x, MemoryOrder::kChannelsLast).is_same(x));
  EXPECT_TRUE(
      EmptyInOrder({3, 4}, DType::kFloat32, {}, MemoryOrder::kChannelsLast)
          .is_contiguous());
  EXPECT_THROW(StridesIn(MemoryOrder::kChannelsLast, {3, 4}), Error);
  EXPECT_FALSE(InOrder(Tensor(), MemoryOrder::kChannelsLast).defined());
  // Part of a channels-last tensor: not dense.
  const Tensor y = InOrder(Numbers({2, 4, 4, 5}), MemoryOrder::kChannelsLast);
  const Tensor part = y.AsStrided({2, 2, 4, 5}, y.strides(), 1);
  EXPECT_FALSE(LiesIn(part, MemoryOrder::kChannelsLast));
  const Tensor dense = InOrder(part, MemoryOrder::kChannelsLast);
  EXPECT_EQ(AsNhwc(dense).data<float>()[2], 21.f);
  // And one that begins within its storage.
  const Tensor last = y.AsStrided({1, 4, 4, 5}, y.strides(), 80);
  EXPECT_EQ(AsNhwc(last).data<float>()[0], 80.f);
}

}  // namespace
}  // namespace proa::inline v0
