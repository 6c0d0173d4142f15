#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Tensor, Empty) {
  const Tensor t = Tensor::Empty({2, 3}, DType::kFloat64);
  EXPECT_TRUE(t.defined());
  EXPECT_EQ(t.shape(), Shape({2, 3}));
  EXPECT_EQ(t.strides(), (Strides{3, 1}));
  EXPECT_EQ(t.numel(), 6);
  EXPECT_EQ(t.bytes(), 48);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_FALSE(t.is_view());
  EXPECT_EQ(t.flags(), 0u);
  EXPECT_EQ(t.storage_offset(), 0);
  std::fill_n(t.data<double>(), 6, 1.0);
}

TEST(Tensor, ZeroDimsAndZeroSizes) {
  const Tensor scalar = Tensor::Empty({}, DType::kInt64);
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.rank(), 0);
  const Tensor none = Tensor::Empty({0, 3}, DType::kInt64);
  EXPECT_EQ(none.numel(), 0);
  EXPECT_EQ(none.raw_data(), nullptr);
  EXPECT_TRUE(none.is_contiguous());
  EXPECT_EQ(none.storage_offset(), 0);
  EXPECT_EQ(Tensor::Empty({2, 2, 2, 2, 2, 2, 2, 2}, DType::kBool).rank(), 8);
}

TEST(Tensor, BadShapes) {
  EXPECT_THROW(Tensor::Empty({-1}, DType::kBool), Error);
  EXPECT_THROW(Tensor::Empty({2, -3}, DType::kBool), Error);
  EXPECT_THROW(Tensor::Empty({kMax}, DType::kBool), Error);
  EXPECT_THROW(Tensor::Empty({kMax}, DType::kFloat32), Error);
  EXPECT_THROW(Tensor::Empty({kMax, kMax}, DType::kBool), Error);
  EXPECT_THROW(
      Tensor::Empty({int64_t{1} << 31, int64_t{1} << 31}, DType::kInt8), Error);
  EXPECT_THROW(Tensor::Empty({0, kMax, kMax}, DType::kBool), Error);
  EXPECT_THROW(Tensor::Empty(Shape(DimVector(65, 1)), DType::kBool), Error);
  EXPECT_EQ(Tensor::Empty(Shape(DimVector(64, 1)), DType::kBool).numel(), 1);
}

TEST(Tensor, Undefined) {
  const Tensor t;
  EXPECT_FALSE(t);
  EXPECT_EQ(t.flags(), 0u);
  EXPECT_EQ(Describe(t), "None");
  EXPECT_THROW(t.item<float>(), Error);
}

TEST(Tensor, CopiesShareTheHandle) {
  const Tensor a = Tensor::Scalar(1.5f);
  const Tensor b = a;
  EXPECT_TRUE(a.is_same(b));
  *b.data<float>() = 2;
  EXPECT_EQ(a.item<float>(), 2);
  const Tensor c = a.Alias();
  EXPECT_FALSE(a.is_same(c));
  EXPECT_TRUE(a.storage() == c.storage());
  a.storage()->BumpVersion();
  EXPECT_EQ(c.version(), 1u);
}

TEST(Tensor, Views) {
  const Tensor a = Tensor::Empty({2, 3}, DType::kInt32);
  for (int i = 0; i < 6; ++i) a.data<int32_t>()[i] = i;
  const Tensor t = a.AsStrided({3, 2}, {1, 3}, 0);
  EXPECT_TRUE(t.is_view());
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.data<int32_t>()[1 * 1 + 1 * 3], 4);
  const Tensor row = a.AsStrided({3}, {1}, 3);
  EXPECT_TRUE(row.is_contiguous());
  EXPECT_EQ(row.storage_offset(), 3);
  const Tensor back = row.AsStrided({2, 3}, {3, 1}, -3);
  EXPECT_EQ(back.raw_data(), a.raw_data());
  const Tensor flipped = a.AsStrided({6}, {-1}, 5);
  EXPECT_EQ(*flipped.data<int32_t>(), 5);
  const Tensor broadcast = row.AsStrided({1000, 3}, {0, 1}, 0);
  EXPECT_EQ(broadcast.numel(), 3000);
}

TEST(Tensor, ViewsStayInside) {
  const Tensor a = Tensor::Empty({2, 3}, DType::kInt32);
  EXPECT_THROW(a.AsStrided({7}, {1}, 0), Error);
  EXPECT_THROW(a.AsStrided({6}, {1}, 1), Error);
  EXPECT_THROW(a.AsStrided({1}, {1}, -1), Error);
  EXPECT_THROW(a.AsStrided({2}, {-1}, 0), Error);
  EXPECT_THROW(a.AsStrided({2}, {kMax}, 0), Error);
  EXPECT_THROW(a.AsStrided({kMax}, {kMax}, kMax), Error);
  EXPECT_THROW(a.AsStrided({1}, {1}, kMax), Error);
  EXPECT_THROW(a.AsStrided({2}, {1, 1}, 0), Error);
  EXPECT_THROW(a.AsStrided({-2}, {1}, 0), Error);
  EXPECT_EQ(a.AsStrided({0}, {kMax}, 0).numel(), 0);
  EXPECT_EQ(a.AsStrided({1}, {kMax}, 5).numel(), 1);
}

TEST(Tensor, FromStorage) {
  float memory[4] = {1, 2, 3, 4};
  bool released = false;
  {
    auto s = Storage::Wrap(memory, sizeof(memory), Place{},
                           [&] { released = true; });
    const Tensor t = Tensor::FromStorage(s, DType::kFloat32, {2}, {2}, 1);
    EXPECT_EQ(t.storage_offset(), 1);
    EXPECT_EQ(t.data<float>()[2], 4);
    EXPECT_THROW(Tensor::FromStorage(s, DType::kFloat64, {3}, {1}), Error);
    EXPECT_THROW(Tensor::FromStorage(s, DType::kFloat32, {1}, {1}, -1), Error);
    EXPECT_THROW(Tensor::FromStorage(nullptr, DType::kFloat32, {1}, {1}),
                 Error);
  }
  EXPECT_TRUE(released);
}

TEST(Tensor, Item) {
  EXPECT_EQ(Tensor::Scalar(true).item<double>(), 1);
  EXPECT_EQ(Tensor::Scalar(bfloat16(1.5f)).item<float>(), 1.5f);
  EXPECT_EQ(Tensor::Scalar(complex64(1, 0)).item<float>(), 1);
  EXPECT_THROW(Tensor::Scalar(complex64(1, 2)).item<float>(), Error);
  EXPECT_EQ(Tensor::Scalar(int64_t{1} << 62).item<int64_t>(), int64_t{1} << 62);
  EXPECT_THROW(Tensor::Empty({2}, DType::kInt8).item<int8_t>(), Error);
  EXPECT_THROW(Tensor::Empty({0}, DType::kInt8).item<int8_t>(), Error);
  EXPECT_THROW(Tensor::Symbolic({}, DType::kInt8).item<int8_t>(), Error);
}

TEST(Tensor, Symbolic) {
  const Tensor t = Tensor::Symbolic({kUnknownDim, 3}, DType::kFloat32);
  EXPECT_EQ(t.numel(), kUnknownDim);
  EXPECT_EQ(t.raw_data(), nullptr);
  EXPECT_EQ(Describe(t), "[?, 3] float32");
  EXPECT_EQ(t.version(), 0u);
  EXPECT_EQ(t.storage_offset(), 0);
  EXPECT_THROW(t.AsStrided({1}, {1}, 0), Error);
  EXPECT_EQ(Tensor::Symbolic({2, 3}, DType::kInt8).strides(), (Strides{3, 1}));
}

TEST(Tensor, ExtensionsEndWithTheTensor) {
  struct Extension : TensorExtension {
    explicit Extension(int* n) : count(n) {}
    ~Extension() override { ++*count; }
    int* count;
  };
  int ended = 0;
  Tensor t = Tensor::Scalar(1.f);
  t.impl()->autograd = std::make_unique<Extension>(&ended);
  EXPECT_EQ(t.Alias().impl()->autograd, nullptr);
  t = Tensor();
  EXPECT_EQ(ended, 1);
  // The pool's next object starts clean.
  EXPECT_EQ(Tensor::Scalar(1.f).impl()->autograd, nullptr);
}

TEST(Tensor, MadeOnOneThreadDroppedOnAnother) {
  std::vector<Tensor> tensors;
  std::thread([&] {
    for (int i = 0; i < 2000; ++i) tensors.push_back(Tensor::Scalar(i));
  }).join();
  std::thread([&] {
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(tensors[i].item<int32_t>(), i);
    tensors.clear();
  }).join();
}

TEST(Tensor, Describe) {
  EXPECT_EQ(Describe(Tensor::Empty({2, 3}, DType::kFloat32)), "[2, 3] float32");
  EXPECT_EQ(
      Describe(Tensor::Symbolic({}, DType::kInt8, Place{DeviceKind::kGPU, 0})),
      "[] int8, gpu:0");
}

}  // namespace
}  // namespace proa::inline v0
