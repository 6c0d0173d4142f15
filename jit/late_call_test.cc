// Calls of ops with numbers that only the run of a program knows: recorded, run
// with several numbers, verified; what their gradients are, a Python test asks
// of every function.
#include "jit/late_call.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "jit/executor.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "ops/boxed_call.h"
#include "ops/definition.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

Tensor Number(int64_t n) {
  Tensor t = Tensor::Empty({}, DType::kInt64);
  *t.data<int64_t>() = n;
  return t;
}

Tensor Count(int64_t n) {
  Tensor t = Tensor::Empty({n}, DType::kFloat32);
  for (int64_t i = 0; i < n; ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

class LateCallTest : public ::testing::Test {
 protected:
  std::vector<Value> Call(const char* name, std::vector<Value> args) {
    const OpDefinition* op = FindOp(name);
    std::vector<Value> results(op->outputs.size());
    CallBoxed(*op, args, results);
    return results;
  }
  Tensor Run(const Tensor& fetch, const Tensor& x, int64_t k) {
    const std::vector<std::pair<ValueId, Tensor>> feeds = {
        {SymbolOf(x_).id(), x}, {SymbolOf(k_).id(), Number(k)}};
    return Executor(*program_, {SymbolOf(fetch).id()}).Run(feeds)[0];
  }

  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Tensor x_ = AddInput(program_, "x", {6}, DType::kFloat32);
  Tensor k_ = AddInput(program_, "k", {}, DType::kInt64);
};

TEST_F(LateCallTest, ATensorWithElementsIsRead) {
  const auto results =
      Call("topk", {Count(5), Number(2), int64_t{-1}, true, true});
  EXPECT_EQ(std::get<Tensor>(results[0]).shape(), Shape({2}));
  EXPECT_THROW(Call("topk", {Count(5), Count(1), int64_t{-1}, true, true}),
               Error);
  EXPECT_THROW(Call("topk", {Count(5), Count(2), int64_t{-1}, true, true}),
               Error);
}

TEST_F(LateCallTest, TheNumberIsReadInEachRun) {
  const Tensor out =
      std::get<Tensor>(Call("topk", {x_, k_, int64_t{-1}, true, true})[0]);
  ASSERT_EQ(out.rank(), 1);
  EXPECT_TRUE(IsUnknown(out.size(0)));
  EXPECT_NE(ToText(*program_).find("topk(%0, k=%1, axis=-1"),
            std::string::npos);
  EXPECT_TRUE(Verify(*program_).ok());
  for (const int64_t k : {2, 4}) {
    const Tensor got = Run(out, Count(6), k);
    EXPECT_EQ(got.shape(), Shape({k}));
    EXPECT_EQ(got.data<float>()[k - 1], 6 - k);
  }
  EXPECT_THROW(Run(out, Count(6), 7), Error);
}

TEST_F(LateCallTest, DimsThatDoNotDependOnItAreKnown) {
  const Tensor out =
      std::get<Tensor>(Call("cumsum", {x_, k_, DType::kFloat32})[0]);
  EXPECT_EQ(out.shape(), Shape({6}));
  EXPECT_EQ(Run(out, Count(6), 0).data<float>()[5], 15);
}

TEST_F(LateCallTest, WhatItIsMustFit) {
  const Tensor list = AddInput(program_, "list", {3}, DType::kInt64);
  const Tensor real = AddInput(program_, "real", {}, DType::kFloat32);
  for (const Tensor& wrong : {list, real}) {
    EXPECT_THROW(Call("topk", {x_, wrong, int64_t{-1}, true, true}), Error);
  }
  EXPECT_TRUE(Verify(*program_).ok());
}

TEST_F(LateCallTest, TheVerifierAsksToo) {
  Call("topk", {x_, k_, int64_t{-1}, true, true});
  Operation& o = program_->block().operations[0];
  o.args[4] = ValueRef{SymbolOf(x_).id()};  // six numbers for a truth value
  EXPECT_FALSE(Verify(*program_).ok());
}

}  // namespace
}  // namespace proa::inline v0::jit
