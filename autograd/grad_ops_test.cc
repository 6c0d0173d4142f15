#include "autograd/grad_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/testing_errors.h"
#include "autograd/testing_ops.h"
#include "tensor/memory_order.h"
#include "tensor/row_sparse.h"
#include "tensor/storage.h"

namespace proa::inline v0::autograd {
namespace {

using testing::Make;
using testing::Values;

class GradOpsTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::InstallTestOps(); }
};

TEST_F(GradOpsTest, NothingInstalled) {
  InstallGradOps({});
  EXPECT_THAT(testing::ErrorOf([] { InstalledGradOps(); }),
              ::testing::HasSubstr("link //autograd:ops"));
}

TEST_F(GradOpsTest, SolelyOwned) {
  Tensor t = Make({1, 2});
  EXPECT_TRUE(IsSolelyOwned(t));
  {
    Tensor handle = t;
    EXPECT_FALSE(IsSolelyOwned(t));
  }
  {
    Tensor view = t.AsStrided({1}, {1}, 0);
    EXPECT_FALSE(IsSolelyOwned(t));
    t = Tensor();
    EXPECT_TRUE(IsSolelyOwned(view));
  }
}

TEST_F(GradOpsTest, OverlappingReadOnlyAndSymbolicAreNot) {
  Tensor expanded = Make({1}).AsStrided({4}, {0}, 0);
  EXPECT_FALSE(IsSolelyOwned(expanded));
  static double constant[2] = {1, 2};
  Tensor constants = Tensor::FromStorage(
      Storage::Wrap(
          constant, sizeof constant, {}, [] {}, /*read_only=*/true),
      DType::kFloat64, {2}, {1});
  EXPECT_FALSE(IsSolelyOwned(constants));
  EXPECT_FALSE(IsSolelyOwned(testing::MakeSymbol("s", {2})));
}

TEST_F(GradOpsTest, ChannelsLastImagesAreDenseToo) {
  const auto order = MemoryOrder::kChannelsLast;
  Tensor image = EmptyInOrder({2, 3, 4, 5}, DType::kFloat64, Place(), order);
  EXPECT_TRUE(IsSolelyOwned(image));
  // What a leaf shows is a row-major copy.
  std::fill_n(image.data<double>(), image.numel(), 1.0);
  EXPECT_TRUE(Unshared(image).is_contiguous());
}

TEST_F(GradOpsTest, RowSparse) {
  const Tensor rows = Tensor::Empty({1}, DType::kInt64);
  rows.data<int64_t>()[0] = 2;
  Tensor values = Make({1});
  Tensor t = MakeRowSparse(rows, values, 3);
  EXPECT_FALSE(IsSolelyOwned(t));  // `values` sees the elements
  values = Tensor();
  EXPECT_TRUE(IsSolelyOwned(t));
  const void* buffer = ValuesOf(t).raw_data();
  Tensor kept = Unshared(t);
  EXPECT_EQ(ValuesOf(kept).raw_data(), buffer);
  const Tensor alias = kept.Alias();
  EXPECT_FALSE(IsSolelyOwned(kept));
}

TEST_F(GradOpsTest, AccumulatesInPlaceWhereItMay) {
  Tensor sum = Make({1, 2});
  const void* buffer = sum.raw_data();
  AccumulateInto(sum, Make({10, 20}), false);
  EXPECT_EQ(sum.raw_data(), buffer);
  EXPECT_EQ(Values(sum), (std::vector<double>{11, 22}));
}

TEST_F(GradOpsTest, AccumulatesIntoTheNewOneIfTheOldIsSeen) {
  Tensor sum = Make({1});
  const Tensor seen = sum;
  Tensor grad = Make({10});
  const void* buffer = grad.raw_data();
  Tensor displaced = AccumulateInto(sum, std::move(grad), false);
  EXPECT_TRUE(displaced.is_same(seen));
  EXPECT_EQ(sum.raw_data(), buffer);
  EXPECT_EQ(Values(sum), std::vector<double>{11});
  EXPECT_EQ(Values(seen), std::vector<double>{1});
}

TEST_F(GradOpsTest, AccumulatesOutOfPlaceIfBothAreSeenOrForHigherOrder) {
  Tensor sum = Make({1}), grad = Make({2});
  const Tensor seen_sum = sum, seen_grad = grad;
  AccumulateInto(sum, Tensor(grad), false);
  EXPECT_EQ(Values(sum), std::vector<double>{3});
  EXPECT_EQ(Values(seen_sum), std::vector<double>{1});
  EXPECT_EQ(Values(seen_grad), std::vector<double>{2});

  Tensor own = Make({1});
  const void* buffer = own.raw_data();
  Tensor displaced = AccumulateInto(own, Make({2}), /*create_graph=*/true);
  EXPECT_NE(own.raw_data(), buffer);
  EXPECT_EQ(Values(own), std::vector<double>{3});
}

TEST_F(GradOpsTest, UnsharedTakesOverOrCopies) {
  Tensor t = Make({1, 2, 3});
  const void* buffer = t.raw_data();
  Tensor taken = Unshared(t);
  EXPECT_EQ(taken.raw_data(), buffer);
  EXPECT_FALSE(t.defined());

  const Tensor seen = taken;
  Tensor copied = Unshared(taken);
  EXPECT_NE(copied.raw_data(), buffer);
  EXPECT_EQ(Values(copied), Values(seen));
}

TEST_F(GradOpsTest, UnsharedOfAViewIsAPlainTensor) {
  Tensor view = Make({1, 2}).AsStrided({2}, {1}, 0);
  EXPECT_TRUE(view.is_view());
  EXPECT_FALSE(Unshared(view).is_view());
}

TEST_F(GradOpsTest, UnsharedKeepsNoLargeBlockForASmallPiece) {
  Tensor piece = Tensor::Empty({1000}, DType::kFloat64).AsStrided({2}, {1}, 0);
  EXPECT_EQ(Unshared(piece).storage()->bytes(), 16);
}

TEST_F(GradOpsTest, CopyIsOptional) {
  GradOps ops = InstalledGradOps();
  ops.copy = nullptr;
  InstallGradOps(ops);
  Tensor t = Make({4});
  const Tensor seen = t;
  Tensor copied = Unshared(t);
  EXPECT_EQ(Values(copied), std::vector<double>{4});
  EXPECT_NE(copied.raw_data(), seen.raw_data());
}

}  // namespace
}  // namespace proa::inline v0::autograd
