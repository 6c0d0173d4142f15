#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/control_flow.h"
#include "jit/program_for_test.h"
#include "ops/elementwise/exponential_ops.h"
#include "ops/elementwise/trigonometric_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

constexpr char kCond[] =
    "  %0 = input \"p\" : [] bool\n"
    "  %1 = input \"x\" : [?] float32\n"
    "  (%4) = cond(%0) {\n"
    "    %2 = exp(%1) : [?] float32\n"
    "    return %2\n"
    "  } {\n"
    "    %3 = sin(%1) : [?] float32\n"
    "    return %3\n"
    "  } : [?] float32\n";

class CondTest : public ::testing::Test {
 protected:
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Tensor p_ = AddInput(program_, "p", {}, DType::kBool);
  Tensor x_ = AddInput(program_, "x", {kUnknownDim}, DType::kFloat32);
};

TEST_F(CondTest, IsRecordedRunAndParsed) {
  const TensorList y = Cond(
      p_, [&] { return TensorList{ops::exp(x_)}; },
      [&] { return TensorList{ops::sin(x_)}; });
  EXPECT_EQ(ToText(*program_), "program {\n" + std::string(kCond) + "}\n");
  for (const bool way : {true, false}) {
    const auto out =
        RunProgram(y, {{0, Tensor::Scalar(way)}, {1, Floats({0, 0, 0})}});
    EXPECT_EQ(out[0].data<float>()[2], way ? 1.f : 0.f);
  }
  EXPECT_NE(ToText(*Parse(kCond)).find("cond(%0) {"), std::string::npos);
}

TEST_F(CondTest, OfANumberCallsOneWayOnly) {
  for (const bool way : {true, false}) {
    std::string called;
    Cond(
        Tensor::Scalar(way), [&] { return called += "then", TensorList(); },
        [&] { return called += "otherwise", TensorList(); });
    EXPECT_EQ(called, way ? "then" : "otherwise");
  }
}

TEST_F(CondTest, DimsThatDifferAreUnknown) {
  const TensorList y = Cond(
      p_,
      [&] {
        return TensorList{Floats({1, 2})};
      },
      [&] {
        return TensorList{Floats({1, 2, 3})};
      });
  EXPECT_TRUE(IsUnknown(y[0].size(0)));
  const std::vector<std::pair<ValueId, Tensor>> feeds = {
      {0, Tensor::Scalar(false)}};
  EXPECT_EQ(RunProgram(y, feeds)[0].shape(), Shape({3}));
}

TEST_F(CondTest, WhatAWayMakesIsItsOwn) {
  Tensor kept;
  const auto way = [&] {
    kept = ops::exp(x_);
    return TensorList{x_};
  };
  Cond(p_, way, way);
  EXPECT_THROW(ops::sin(kept), Error);
  // Nor is it seen by another region, nor after one that failed.
  EXPECT_THROW(Cond(
                   p_, [&] { return TensorList{ops::sin(kept)}; },
                   [&] { return TensorList{x_}; }),
               Error);
  EXPECT_THROW(Cond(
                   p_,
                   [&] {
                     kept = ops::exp(x_);
                     return TensorList{Tensor()};
                   },
                   way),
               Error);
  EXPECT_THROW(ops::sin(kept), Error);
}

TEST_F(CondTest, BothWaysMustAgree) {
  const auto gives = [](TensorList ts) {
    return [ts = std::move(ts)] { return ts; };
  };
  const Tensor one = Floats({1});
  EXPECT_THROW(Cond(p_, gives({one}), gives({one, one})), Error);
  EXPECT_THROW(Cond(p_, gives({one}), gives({Tensor::Scalar(1.f)})), Error);
  EXPECT_THROW(Cond(p_, gives({one}), gives({Tensor::Scalar(true)})), Error);
  EXPECT_THROW(Cond(p_, gives({one}), gives({Tensor()})), Error);
  EXPECT_TRUE(program_->block().operations.empty());
}

TEST_F(CondTest, ThePredicateIsOneBool) {
  const auto nothing = [] { return TensorList(); };
  EXPECT_THROW(Cond(x_, nothing, nothing), Error);
  EXPECT_THROW(Cond(Tensor(), nothing, nothing), Error);
  EXPECT_THROW(
      Cond(AddInput(program_, "ps", {2}, DType::kBool), nothing, nothing),
      Error);
}

}  // namespace
}  // namespace proa::inline v0::jit
