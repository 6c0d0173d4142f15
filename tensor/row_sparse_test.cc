#include "tensor/row_sparse.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

Tensor Rows(const std::vector<int64_t>& rows) {
  Tensor t = Tensor::Empty({static_cast<int64_t>(rows.size())}, DType::kInt64);
  std::copy(rows.begin(), rows.end(), t.data<int64_t>());
  return t;
}

// 1, 2, 3, ... in the given shape.
Tensor Counting(const Shape& shape, DType dtype = DType::kFloat32) {
  Tensor t = Tensor::Empty(shape, dtype);
  VisitDType(dtype, [&]<typename T>(TypeTag<T>) {
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.data<T>()[i] = static_cast<T>(static_cast<float>(i + 1));
    }
  });
  return t;
}

std::vector<float> Floats(const Tensor& t) {
  return {t.data<float>(), t.data<float>() + t.numel()};
}

// The message of the Error that `f` throws.
template <typename F>
std::string MessageOf(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(RowSparse, DescribesTheWhole) {
  const Tensor values = Counting({2, 3});
  const Tensor t = MakeRowSparse(Rows({4, 1}), values, 5);
  EXPECT_TRUE(IsRowSparse(t));
  EXPECT_EQ(t.shape(), Shape({5, 3}));
  EXPECT_EQ(t.numel(), 15);
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.raw_data(), nullptr);
  EXPECT_FALSE(t.is_symbolic());
  EXPECT_TRUE(t.storage() == values.storage());
  EXPECT_EQ(RowsOf(t).data<int64_t>()[0], 4);
  EXPECT_EQ(ValuesOf(t).raw_data(), values.raw_data());
  EXPECT_TRUE(IsRowSparse(t.Alias()));
}

TEST(RowSparse, ToDenseAddsEqualRows) {
  const Tensor t = MakeRowSparse(Rows({2, 0, 2}), Counting({3, 2}), 4);
  const Tensor d = Contiguous(t);
  EXPECT_EQ(d.layout(), Layout::kStrided);
  EXPECT_EQ(Floats(d), (std::vector<float>{3, 4, 0, 0, 6, 8, 0, 0}));
  const Tensor target = Counting({4, 2});
  CopyInto(t, target);
  EXPECT_EQ(Floats(target), Floats(d));
}

TEST(RowSparse, MergeSortsAndSums) {
  const Tensor t = MakeRowSparse(Rows({3, 1, 3, 0, 3}), Counting({5, 2}), 4);
  const Tensor m = MergeRows(t);
  ASSERT_EQ(RowsOf(m).numel(), 3);
  EXPECT_EQ(RowsOf(m).data<int64_t>()[0], 0);
  EXPECT_EQ(RowsOf(m).data<int64_t>()[1], 1);
  EXPECT_EQ(RowsOf(m).data<int64_t>()[2], 3);
  EXPECT_EQ(Floats(ValuesOf(m)), (std::vector<float>{7, 8, 3, 4, 15, 18}));
  EXPECT_TRUE(MergeRows(m).is_same(m));  // nothing to do
}

TEST(RowSparse, AllTypes) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const Tensor d =
        Contiguous(MakeRowSparse(Rows({1, 1}), Counting({2, 1}, dtype), 2));
    VisitDType(dtype, [&]<typename T>(TypeTag<T>) {
      const T sum =
          std::is_same_v<T, bool> ? static_cast<T>(1.f) : static_cast<T>(3.f);
      EXPECT_TRUE(d.data<T>()[1] == sum) << Name(dtype);
      EXPECT_TRUE(d.data<T>()[0] == static_cast<T>(0.f)) << Name(dtype);
    });
  }
}

TEST(RowSparse, SixteenBitsAreRoundedOnce) {
  const int64_t n = 300;  // 256 + 1 is 256 in bfloat16
  const Tensor ones = Tensor::Empty({n, 1}, DType::kBFloat16);
  for (int64_t i = 0; i < n; ++i) ones.data<bfloat16>()[i] = bfloat16(1.f);
  const Tensor d =
      Contiguous(MakeRowSparse(Rows(std::vector<int64_t>(n, 0)), ones, 1));
  EXPECT_EQ(static_cast<float>(d.data<bfloat16>()[0]), 300.f);
}

TEST(RowSparse, EmptyInEveryWay) {
  EXPECT_EQ(Floats(Contiguous(MakeRowSparse(Rows({}), Counting({0, 2}), 2))),
            (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(Contiguous(MakeRowSparse(Rows({}), Counting({0, 2}), 0)).numel(),
            0);
  EXPECT_EQ(
      Contiguous(MakeRowSparse(Rows({1, 1}), Counting({2, 0}), 3)).shape(),
      Shape({3, 0}));
  EXPECT_EQ(Floats(Contiguous(MakeRowSparse(Rows({1, 1}), Counting({2}), 3))),
            (std::vector<float>{0, 3, 0}));
}

TEST(RowSparse, RefusesBadParts) {
  const Tensor rows = Rows({0, 1});
  EXPECT_EQ(
      MessageOf([&] {
        MakeRowSparse(rows, Counting({3, 2}), 4);
      }),
      "row_sparse: values must have a first dim of the number of rows, 2; "
      "values is [3, 2] float32");
  EXPECT_EQ(MessageOf([&] {
              MakeRowSparse(Rows({0, 4}), Counting({2, 2}), 4);
            }),
            "row_sparse: row 4 at [1] is out of range for 4 rows");
  EXPECT_EQ(MessageOf([&] {
              MakeRowSparse(Rows({-1}), Counting({1, 2}), 4);
            }),
            "row_sparse: row -1 at [0] is out of range for 4 rows");
  EXPECT_THROW(MakeRowSparse(Counting({2}), Counting({2, 2}), 4), Error);
  EXPECT_THROW(MakeRowSparse(rows, Counting({}), 4), Error);
  EXPECT_THROW(MakeRowSparse(rows, Tensor(), 4), Error);
  EXPECT_THROW(MakeRowSparse(rows, Counting({2, 2}), -1), Error);
  const Tensor transposed = Counting({2, 2}).AsStrided({2, 2}, {1, 2}, 0);
  EXPECT_THROW(MakeRowSparse(rows, transposed, 4), Error);
}

TEST(RowSparse, RowsChangedLaterAreCheckedAgain) {
  const Tensor rows = Rows({0});
  const Tensor t = MakeRowSparse(rows, Counting({1, 2}), 4);
  rows.data<int64_t>()[0] = 1 << 30;
  EXPECT_THROW(Contiguous(t), Error);
}

TEST(RowSparse, IsNoTargetAndNoView) {
  const Tensor t = MakeRowSparse(Rows({0}), Counting({1, 2}), 4);
  EXPECT_THROW(CopyInto(Counting({4, 2}), t), Error);
  EXPECT_THROW(t.AsStrided({2}, {1}, 0), Error);
}

}  // namespace
}  // namespace proa::inline v0
