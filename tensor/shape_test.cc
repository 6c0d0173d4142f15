#include "tensor/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

template <typename F>
std::string ErrorOf(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Shape, Numel) {
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(Shape({2, 3}).numel(), 6);
  EXPECT_EQ(Shape({2, 0, 3}).numel(), 0);
  EXPECT_EQ(Shape({kMax}).numel(), kMax);
  EXPECT_EQ(Shape({1, kMax, 1}).numel(), kMax);
  EXPECT_EQ(Shape({kUnknownDim, 3}).numel(), kUnknownDim);
  EXPECT_EQ(Shape({0, kMax, kMax}).numel(), 0);
  EXPECT_EQ(Shape({kMax, kMax, 0}).numel(), 0);
  EXPECT_EQ(Shape({kUnknownDim, kMax, kMax}).numel(), kUnknownDim);
}

TEST(Shape, NamedDims) {
  const Shape named = {NamedDim(3), 2}, unnamed = {kUnknownDim, 2};
  EXPECT_FALSE(named.known());
  EXPECT_TRUE(named.identified());
  EXPECT_FALSE(unnamed.identified());
  EXPECT_EQ(named.numel(), kUnknownDim);
  EXPECT_EQ(ToString(named), "[?, 2]");
  EXPECT_TRUE(IsNamed(NamedDim(kMostNamedDims - 1)));
  EXPECT_FALSE(IsUnknown(-2));
  EXPECT_TRUE(ShapesFit(named, unnamed));
  EXPECT_TRUE(ShapesFit(named, {5, 2}));
  EXPECT_FALSE(ShapesFit(named, {5, 3}));
  EXPECT_FALSE(ShapesFit(named, {5, 2, 1}));
}

TEST(Shape, NumelOverflows) {
  EXPECT_EQ(ErrorOf([] {
              Shape({kMax, 2}).numel();
            }),
            "shape: size overflows int64; shape is [9223372036854775807, 2]");
  EXPECT_THROW(Shape({int64_t{1} << 32, int64_t{1} << 31}).numel(), Error);
  EXPECT_EQ(ErrorOf([] {
              Shape({2, -3}).numel();
            }),
            "shape: size -3 in [2, -3] is negative");
  EXPECT_THROW(Shape({-2, -3}).numel(), Error);
  EXPECT_THROW(Shape({std::numeric_limits<int64_t>::min()}).numel(), Error);
}

TEST(Shape, Strides) {
  EXPECT_EQ(ContiguousStrides({}), Strides());
  EXPECT_EQ(ContiguousStrides({0}), (Strides{1}));
  EXPECT_EQ(ContiguousStrides({5}), (Strides{1}));
  EXPECT_EQ(ContiguousStrides({5, 3}), (Strides{3, 1}));
  EXPECT_EQ(ContiguousStrides({5, 0}), (Strides{1, 1}));
  EXPECT_EQ(ContiguousStrides({0, 3}), (Strides{3, 1}));
  EXPECT_THROW(ContiguousStrides({kMax, kMax}), Error);
  EXPECT_EQ(ContiguousStrides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(ContiguousStrides({2, 0, 4}), (Strides{4, 4, 1}));
  EXPECT_EQ(ContiguousStrides({1, 2, 3, 4, 5, 6, 7, 8}).size(), 8u);
  EXPECT_THROW(ContiguousStrides({2, kMax, 2}), Error);
}

TEST(Shape, Contiguity) {
  EXPECT_TRUE(IsContiguous({}, {}));
  EXPECT_TRUE(IsContiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(IsContiguous({2, 3}, {1, 2}));
  EXPECT_TRUE(IsContiguous({1, 3}, {77, 1}));  // a dim of size 1 has no stride
  EXPECT_TRUE(IsContiguous({3, 1}, {1, -5}));
  EXPECT_TRUE(IsContiguous({0, 3}, {5, 5}));
  EXPECT_TRUE(IsContiguous({3, 0}, {5, 5}));
  EXPECT_FALSE(IsContiguous({3}, {0}));
  EXPECT_FALSE(IsContiguous({3}, {-1}));
}

TEST(Shape, Text) {
  EXPECT_EQ(ToString(Shape()), "[]");
  EXPECT_EQ(ToString(Shape({2, kUnknownDim})), "[2, ?]");
}

TEST(Shape, CheckedArithmetic) {
  EXPECT_EQ(CheckedMul(3, -4), -12);
  EXPECT_THROW(CheckedMul(kMax, 2), Error);
  EXPECT_THROW(CheckedAdd(kMax, 1), Error);
  EXPECT_THROW(CheckedAdd(-kMax, -2), Error);
}

TEST(Shape, Broadcast) {
  const int64_t u = kUnknownDim;
  EXPECT_EQ(BroadcastShapes("op", {2, 1}, {3}), Shape({2, 3}));
  EXPECT_EQ(BroadcastShapes("op", {}, {3}), Shape({3}));
  EXPECT_EQ(BroadcastShapes("op", {}, {}), Shape());
  EXPECT_EQ(BroadcastShapes("op", {0}, {1}), Shape({0}));
  EXPECT_EQ(BroadcastShapes("op", {4, 1, 5}, {3, 1}), Shape({4, 3, 5}));
  EXPECT_EQ(BroadcastShapes("op", {u}, {3}), Shape({3}));
  EXPECT_EQ(BroadcastShapes("op", {3}, {u}), Shape({3}));
  EXPECT_EQ(BroadcastShapes("op", {u}, {1}), Shape({u}));
  const int64_t n = NamedDim(1), m = NamedDim(7);
  EXPECT_EQ(BroadcastShapes("op", {n}, {n}), Shape({n}));
  EXPECT_EQ(BroadcastShapes("op", {n, 1}, {1, m}), Shape({n, m}));
  EXPECT_EQ(BroadcastShapes("op", {n, m}, {4, 5}), Shape({4, 5}));
  EXPECT_EQ(BroadcastShapes("op", {n}, {m}), Shape({u}));  // one may be 1
  EXPECT_EQ(BroadcastShapes("op", {n}, {u}), Shape({u}));
  EXPECT_EQ(BroadcastShapes("op", {1}, {u}), Shape({u}));
  EXPECT_EQ(BroadcastShapes("op", {u}, {u}), Shape({u}));
  EXPECT_EQ(BroadcastShapes("op", {u}, {0}), Shape({0}));
  EXPECT_EQ(ErrorOf([] {
              BroadcastShapes("add", {2, 3}, {2, 4});
            }),
            "add: shapes do not broadcast at dim 1; x is [2, 3], y is [2, 4]");
  EXPECT_EQ(ErrorOf([] {
              BroadcastShapes("add", {4}, {2, 3});
            }),
            "add: shapes do not broadcast at dim 1; x is [4], y is [2, 3]");
  EXPECT_THROW(BroadcastShapes("add", {0}, {2}), Error);
}

TEST(Shape, Axis) {
  EXPECT_EQ(NormalizeAxis("op", 1, 2), 1);
  EXPECT_EQ(NormalizeAxis("op", -2, 2), 0);
  EXPECT_EQ(NormalizeAxis("op", 0, 0), 0);
  EXPECT_EQ(NormalizeAxis("op", -1, 0), 0);
  for (int64_t axis : {int64_t{-3}, int64_t{2}, int64_t{1} << 31,
                       int64_t{1} << 32, kMax, -kMax - 1}) {
    EXPECT_THROW(NormalizeAxis("op", axis, 2), Error) << axis;
  }
  EXPECT_THROW(NormalizeAxis("op", 1, 0), Error);
  EXPECT_EQ(ErrorOf([] { NormalizeAxis("sum", -3, 2); }),
            "sum: axis -3 is out of range for a tensor of 2 dims; use -2 to 1");
}

}  // namespace
}  // namespace proa::inline v0
