#include "tensor/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/strided_copy.h"

namespace proa::inline v0 {
namespace {

Tensor Range(const Shape& shape, DType dtype) {
  Tensor t = Tensor::Empty(shape, dtype);
  VisitDType(dtype, [&]<typename T>(TypeTag<T>) {
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.data<T>()[i] = static_cast<T>(static_cast<float>(i % 251));
    }
  });
  return t;
}

// Address of the element with row-major index `n`.
const char* ElementAt(const Tensor& t, int64_t n) {
  int64_t offset = 0;
  for (int i = t.rank() - 1; i >= 0; --i) {
    offset += n % t.size(i) * t.strides()[i];
    n /= t.size(i);
  }
  return static_cast<const char*>(t.raw_data()) + offset * ItemSize(t.dtype());
}

void ExpectEqual(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.numel(); ++i) {
    ASSERT_EQ(
        std::memcmp(ElementAt(a, i), ElementAt(b, i), ItemSize(a.dtype())), 0)
        << i << " of " << Describe(a);
  }
}

TEST(Copy, ContiguousIsItself) {
  const Tensor t = Range({2, 3}, DType::kFloat32);
  EXPECT_TRUE(Contiguous(t).is_same(t));
  const Tensor c = CopyTo(t, Place{});
  EXPECT_FALSE(c.storage() == t.storage());
  ExpectEqual(c, t);
}

TEST(Copy, AllTypesTransposed) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const Tensor t = Range({37, 53}, static_cast<DType>(i));
    const Tensor v = t.AsStrided({53, 37}, {1, 53}, 0);
    const Tensor c = Contiguous(v);
    EXPECT_TRUE(c.is_contiguous());
    ExpectEqual(c, v);
  }
}

TEST(Copy, EmptyAndZeroDims) {
  EXPECT_EQ(CopyTo(Tensor::Empty({0, 5}, DType::kInt8), Place{}).numel(), 0);
  EXPECT_EQ(CopyTo(Tensor::Scalar(3.f), Place{}).item<float>(), 3);
  const Tensor none = Range({4, 4}, DType::kInt8).AsStrided({4, 0}, {1, 4}, 0);
  EXPECT_EQ(Contiguous(none).numel(), 0);
}

TEST(Copy, NegativeAndZeroStrides) {
  const Tensor t = Range({24}, DType::kInt16);
  for (const auto& [shape, strides, offset] :
       std::vector<std::tuple<Shape, Strides, int64_t>>{
           {{24}, {-1}, 23},
           {{4, 6}, {-6, 1}, 18},
           {{6, 4}, {-1, -6}, 23},
           {{5, 4}, {0, 3}, 2},
           {{3, 1, 4}, {0, 77, 0}, 7},
           {{2, 3, 4}, {12, 1, 3}, 0},
           {{24}, {0}, 5}}) {
    const Tensor v = t.AsStrided(shape, strides, offset);
    ExpectEqual(CopyTo(v, Place{}), v);
  }
}

TEST(Copy, RandomViewsIntoRandomViews) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 400; ++repeat) {
    const int rank = static_cast<int>(random() % 5);
    Shape shape;
    for (int i = 0; i < rank; ++i) {
      constexpr int64_t kSizes[] = {1, 2, 3, 5, 16, 17, 40};
      shape.push_back(kSizes[random() % (rank > 3 ? 5 : 7)]);
    }
    const DType dtype = static_cast<DType>(random() % kNumDTypes);
    // A permuted, stepped, perhaps flipped view of larger memory.
    auto view = [&] {
      std::vector<int> order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      Strides strides(rank);
      int64_t step = 1, first = 0;
      for (int i : order) {
        step *= 1 + random() % 2;
        strides[i] = step;
        step *= shape[i];
        if (random() % 3 == 0) {
          first += strides[i] * (shape[i] - 1);
          strides[i] = -strides[i];
        }
      }
      return Range({step}, dtype).AsStrided(shape, strides, first);
    };
    const Tensor src = view(), dst = view();
    CopyInto(src, dst);
    ExpectEqual(src, dst);
  }
}

TEST(Copy, LargeOnesAtManyThreads) {
  const Tensor t = Range({3, 517, 1031}, DType::kFloat32);
  const Tensor v = t.AsStrided({1031, 3, 517}, {1, 517 * 1031, 1031}, 0);
  SetNumThreads(1);
  const Tensor one = Contiguous(v);
  SetNumThreads(3);
  const Tensor three = Contiguous(v);
  EXPECT_EQ(std::memcmp(one.raw_data(), three.raw_data(), one.bytes()), 0);
  ExpectEqual(one.AsStrided({1000, 3, 7}, {3 * 517, 517, 1}, 0),
              v.AsStrided({1000, 3, 7}, v.strides(), 0));
  ExpectEqual(CopyTo(t.AsStrided({1000}, {1}, 9), Place{}),
              t.AsStrided({1000}, {1}, 9));
  SetNumThreads(AvailableCpus());
}

TEST(Copy, ChannelsComeToTheirPixels) {
  for (const DType dtype : {DType::kUInt8, DType::kFloat16, DType::kFloat32,
                            DType::kFloat64, DType::kComplex128}) {
    for (int64_t channels = 1; channels <= 6; ++channels) {
      for (const int64_t pixels : {1, 3, 17, 1024, 1025, 3000}) {
        const Tensor images = Range({2, channels, pixels}, dtype);
        const Tensor pixels_first = images.AsStrided(
            {2, pixels, channels}, {channels * pixels, 1, pixels}, 0);
        ExpectEqual(Contiguous(pixels_first), pixels_first);
      }
    }
  }
}

TEST(Copy, OverlapIsAsIfCopiedFirst) {
  const Tensor t = Range({100}, DType::kInt32);
  CopyInto(t.AsStrided({99}, {1}, 0), t.AsStrided({99}, {1}, 1));
  for (int i = 1; i < 100; ++i) EXPECT_EQ(t.data<int32_t>()[i], i - 1);
  const Tensor r = Range({100}, DType::kInt32);
  CopyInto(r.AsStrided({100}, {-1}, 99), r);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(r.data<int32_t>()[i], 99 - i);
  CopyInto(r, r);
  EXPECT_EQ(r.data<int32_t>()[0], 99);
}

TEST(Copy, BadArguments) {
  const Tensor t = Range({4}, DType::kInt32);
  EXPECT_THROW(CopyTo(Tensor(), Place{}), Error);
  EXPECT_THROW(Contiguous(Tensor()), Error);
  EXPECT_THROW(CopyTo(Tensor::Symbolic({4}, DType::kInt32), Place{}), Error);
  EXPECT_THROW(CopyTo(t, Place{DeviceKind::kGPU, 0}), Error);
  EXPECT_THROW(CopyInto(t, Range({5}, DType::kInt32)), Error);
  EXPECT_THROW(CopyInto(t, Range({4}, DType::kInt64)), Error);
  EXPECT_THROW(CopyInto(t, Tensor::Scalar(1).AsStrided({4}, {0}, 0)), Error);
  int memory[4];
  auto read_only = Storage::Wrap(memory, 16, Place{}, nullptr, true);
  EXPECT_THROW(
      CopyInto(t, Tensor::FromStorage(read_only, DType::kInt32, {4}, {1})),
      Error);
}

TEST(StridedCopy, Span) {
  EXPECT_EQ(SpanOf({}, {}).high, 1);
  EXPECT_EQ(SpanOf({3, 2}, {-2, 1}).low, -4);
  EXPECT_EQ(SpanOf({3, 2}, {-2, 1}).high, 2);
  EXPECT_EQ(SpanOf({3, 0}, {INT64_MAX, 1}).high, 0);
  EXPECT_THROW(SpanOf({3}, {INT64_MAX}), Error);
}

}  // namespace
}  // namespace proa::inline v0
