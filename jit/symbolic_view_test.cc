// Views in a program: which values a change makes, and what they are when the
// program runs. python/tests/inplace_*_test.py compares whole random programs.
#include "jit/symbolic_view.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/recorder.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Ints = std::vector<int64_t>;

class SymbolicViewTest : public ::testing::Test {
 protected:
  // x: [?, 2]; the base of the views is 1 * x, a value of its own.
  SymbolicViewTest()
      : program_(std::make_shared<Program>()),
        x_(AddInput(program_, "x", {kUnknownDim, 2}, DType::kFloat64)),
        base_(ops::multiply(x_, Tensor::Scalar(1.0))) {}

  static Tensor Rows(const Tensor& t, int64_t first, int64_t last) {
    return ops::slice(t, Ints{0}, Ints{first}, Ints{last});
  }
  static Tensor Number(double v) { return Tensor::Scalar(v); }
  // The elements of `t` when x is [[0, 1], [2, 3], [4, 5]].
  std::vector<double> Run(const Tensor& t) const {
    Tensor x = Tensor::Empty({3, 2}, DType::kFloat64);
    std::iota(x.data<double>(), x.data<double>() + 6, 0.0);
    const Executor executor(*program_, {SymbolOf(t).id()});
    const std::pair<ValueId, Tensor> feed(SymbolOf(x_).id(), x);
    const Tensor out = ops::add(executor.Run({&feed, 1})[0], Number(0));
    return {out.data<double>(), out.data<double>() + out.numel()};
  }
  size_t num_operations() const { return program_->block().operations.size(); }

  std::shared_ptr<Program> program_;
  Tensor x_, base_;
};

template <typename F>
std::string ErrorOf(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(SymbolicViewTest, AChangeReachesTheRootAndItsOtherViews) {
  const Tensor before = Rows(base_, 0, 2), row = Rows(base_, 1, 2);
  ops::add_(row, Number(10));
  const Tensor after = Rows(base_, 1, 3);
  EXPECT_THAT(Run(row), ElementsAre(12, 13));
  EXPECT_THAT(Run(base_), ElementsAre(0, 1, 12, 13, 4, 5));
  EXPECT_THAT(Run(before), ElementsAre(0, 1, 12, 13));
  EXPECT_THAT(Run(after), ElementsAre(12, 13, 4, 5));
  EXPECT_THAT(Run(x_), ElementsAre(0, 1, 2, 3, 4, 5));  // values never change
}

TEST_F(SymbolicViewTest, ChangesThroughViewsFollowOneAnother) {
  const Tensor a = Rows(base_, 0, 2), b = Rows(base_, 1, 3);
  ops::add_(a, Number(10));
  ops::multiply_(b, Number(2));  // sees the first
  ops::add_(base_, Number(100));
  ops::add_(a, Number(1000));
  EXPECT_THAT(Run(base_), ElementsAre(1110, 1111, 1124, 1126, 108, 110));
  EXPECT_THAT(Run(a), ElementsAre(1110, 1111, 1124, 1126));
  EXPECT_THAT(Run(b), ElementsAre(1124, 1126, 108, 110));
}

TEST_F(SymbolicViewTest, AnyViewOpOfUnknownSizes) {
  const Tensor turned = ops::transpose(base_, Ints{1, 0});
  const Tensor column = ops::unbind(base_, 1)[1];
  const Tensor of_view = ops::slice(turned, Ints{0}, Ints{0}, Ints{1});
  ops::multiply_(of_view, Number(10));  // the first column
  EXPECT_THAT(Run(base_), ElementsAre(0, 1, 20, 3, 40, 5));
  ops::add_(column, Number(0.5));
  EXPECT_THAT(Run(turned), ElementsAre(0, 20, 40, 1.5, 3.5, 5.5));
  EXPECT_THAT(Run(of_view), ElementsAre(0, 20, 40));
}

TEST_F(SymbolicViewTest, AStaleViewIsRecordedOnceMore) {
  const Tensor view = Rows(base_, 0, 2), row = Rows(base_, 0, 1);
  const ValueId fresh = SymbolOf(view).id();
  EXPECT_EQ(SymbolOf(view).id(), fresh);
  ops::add_(row, Number(1));
  EXPECT_TRUE(ShapesFit(base_.shape(), {kUnknownDim, 2}));  // as before
  const size_t operations = num_operations();
  const ValueId renewed = SymbolOf(view).id();
  EXPECT_NE(renewed, fresh);
  EXPECT_EQ(num_operations(), operations + 1);  // the slice, again
  EXPECT_EQ(SymbolOf(view).id(), renewed);
  RenewSymbolicView(view);
  RenewSymbolicView(row);  // it made the change, and knows its value
  EXPECT_EQ(num_operations(), operations + 1);
}

TEST_F(SymbolicViewTest, WhatIsNoViewIsNotRenewed) {
  const size_t operations = num_operations();
  RenewSymbolicView(base_);
  RenewSymbolicView(Tensor::Scalar(1.0));
  EXPECT_EQ(num_operations(), operations);
  EXPECT_EQ(SymbolOf(base_).view(), nullptr);
}

TEST_F(SymbolicViewTest, ARecipeLeadsFromTheRoot) {
  const Tensor of_view = Rows(ops::transpose(base_, Ints{1, 0}), 0, 1);
  const ViewRecipe& recipe = *SymbolOf(of_view).view();
  ASSERT_EQ(recipe.steps.size(), 2u);
  EXPECT_STREQ(recipe.steps[0].op->name, "transpose");
  EXPECT_STREQ(recipe.steps[1].op->name, "slice");
  EXPECT_EQ(recipe.root_shape, base_.shape());
  EXPECT_EQ(recipe.root_symbol, base_.impl()->symbol);
  const std::vector<Tensor> rows =
      ops::split(Rows(base_, 0, 2), IntArray({1, 1}));
  EXPECT_EQ(SymbolOf(rows[1]).view()->steps.back().item, 1u);
}

TEST_F(SymbolicViewTest, AReshapeInPlaceIsNoChangeOfElements) {
  const Tensor row = Rows(base_, 0, 1);
  ops::reshape_(row, {2});
  ops::add_(row, Number(7));
  EXPECT_EQ(row.shape(), Shape({2}));
  EXPECT_THAT(Run(base_), ElementsAre(7, 8, 2, 3, 4, 5));
  const Tensor view = Rows(base_, 2, 3);
  ops::reshape_(base_, {-1});
  ops::multiply_(view, Number(0));
  EXPECT_EQ(base_.rank(), 1);
  EXPECT_THAT(Run(base_), ElementsAre(7, 8, 2, 3, 0, 0));
}

TEST_F(SymbolicViewTest, ADetachedViewIsARoot) {
  const Tensor alias = Rows(base_, 0, 2).Alias();
  ops::add_(Rows(alias, 0, 1), Number(3));
  EXPECT_THAT(Run(alias), ElementsAre(3, 4, 2, 3));
}

TEST_F(SymbolicViewTest, WhatCannotBeRecorded) {
  const Tensor y = AddInput(program_, "y", {3, 2}, DType::kFloat64);
  const Tensor wide = ops::broadcast_to(Rows(y, 0, 1), {3, 2});
  EXPECT_THAT(ErrorOf([&] { ops::add_(wide, Number(1)); }),
              HasSubstr("one and the same"));
  // A size that only a run knows: 1 would be repeated.
  const Tensor rows = ops::broadcast_to(base_, {3, 2});
  EXPECT_THAT(ErrorOf([&] { ops::add_(rows, Number(1)); }),
              HasSubstr("one and the same"));
  // Of the same sizes nothing is repeated.
  const Tensor own = ops::multiply(y, Number(1));
  const Tensor same = ops::broadcast_to(own, {3, 2});
  EXPECT_EQ(ErrorOf([&] { ops::add_(same, Number(1)); }), "no error");
  const Tensor z = AddInput(program_, "z", {2}, DType::kComplex128);
  EXPECT_THAT(ErrorOf([&] { ops::add_(ops::as_real(z), Number(1)); }),
              HasSubstr("a view of another dtype"));
}

}  // namespace
}  // namespace proa::inline v0::jit
