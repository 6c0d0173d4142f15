#include "ops/onednn/blocked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/strided_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/onednn/reorders.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/print.h"
#include "tensor/tensor.h"

namespace proa::inline v0::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

// 5 channels: two blocks of 4, or one of 16, the last of which is padded.
Tensor Range(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = i - 7;
  return t;
}

dnnl::memory::desc Format(const Shape& s, Tag tag) {
  return {{s[0], s[1], s[2], s[3]}, dnnl::memory::data_type::f32, tag};
}

void ExpectEqual(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.dtype(), b.dtype());
  const Tensor x = Contiguous(a), y = Contiguous(b);
  if (x.numel() == 0) return;  // memcmp takes no null
  EXPECT_EQ(std::memcmp(x.raw_data(), y.raw_data(), x.bytes()), 0);
}

TEST(Blocked, ThereAndBack) {
  const Tensor x = Range({2, 5, 3, 4});
  for (Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc, Tag::nChw4c}) {
    const Tensor b = ToFormat(x, Format(x.shape(), tag));
    EXPECT_TRUE(IsBlocked(b));
    EXPECT_FALSE(b.is_contiguous());
    ExpectEqual(b, x);
    ExpectEqual(CopyTo(b, Place{}), x);
  }
}

TEST(Blocked, FromATransposedTensorAndAnotherFormat) {
  const Tensor x =
      Range({2, 3, 4, 5}).AsStrided({2, 5, 3, 4}, {60, 1, 20, 5}, 0);
  const Tensor b = ToFormat(x, Format(x.shape(), Tag::nChw16c));
  ExpectEqual(b, x);
  ExpectEqual(ToFormat(b, Format(x.shape(), Tag::nhwc)), x);
}

TEST(Blocked, SameFormatIsTheSameTensor) {
  const Tensor x = Range({1, 16, 2, 2});
  const Tensor b = ToFormat(x, Format(x.shape(), Tag::nChw16c));
  const int64_t before = GetReorderCounts().data;
  EXPECT_TRUE(ToFormat(b, Format(x.shape(), Tag::nChw16c)).is_same(b));
  EXPECT_EQ(GetReorderCounts().data, before);
}

TEST(Blocked, OpsThatDoNotKnowFormatsSeeAStridedTensor) {
  const Tensor x = Range({2, 5, 3, 4});
  const Tensor b = ToFormat(x, Format(x.shape(), Tag::nChw16c));
  ExpectEqual(ops::relu(b), ops::relu(x));
  ExpectEqual(ops::add(b, x), ops::add(x, x));
  ExpectEqual(ops::add(x, b), ops::add(x, x));
  const std::vector<int64_t> perm = {3, 1, 0, 2};
  ExpectEqual(ops::transpose(b, perm), ops::transpose(x, perm));
}

TEST(Blocked, PrintsItsElements) {
  const Tensor x = Range({1, 2, 1, 2});
  EXPECT_EQ(ToString(ToFormat(x, Format(x.shape(), Tag::nChw16c))),
            ToString(x));
}

TEST(Blocked, CannotBeViewedOrWritten) {
  const Tensor b =
      ToFormat(Range({1, 2, 1, 2}), Format({1, 2, 1, 2}, Tag::nChw8c));
  EXPECT_THROW(b.AsStrided({2, 2}, {2, 1}, 0), Error);
  EXPECT_THROW(CopyInto(Range({1, 2, 1, 2}), b), Error);
  EXPECT_THROW(ops::add_(b, Range({1, 2, 1, 2})), Error);
}

TEST(Blocked, Empty) {
  const Tensor x = Tensor::Empty({0, 5, 3, 4}, DType::kFloat32);
  ExpectEqual(ToFormat(x, Format(x.shape(), Tag::nChw16c)), x);
}

}  // namespace
}  // namespace proa::inline v0::onednn
