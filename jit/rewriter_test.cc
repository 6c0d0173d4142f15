// The tools of passes: chains, effects, copies, changes, versions.
#include "jit/rewriter.h"

#include <string>

#include "gtest/gtest.h"
#include "jit/clone.h"
#include "jit/effects.h"
#include "jit/executor.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "ops/elementwise/exponential_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

std::shared_ptr<Program> Parse(const std::string& body,
                               std::vector<Tensor> captured = {}) {
  auto parsed = ParseText("program {\n" + body + "}\n", captured);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *parsed;
}

constexpr char kNested[] =
    "  %0 = input \"p\" : [] bool\n"
    "  %1 = input \"x\" : [4] float32\n"
    "  %2 = exp(%1) : [4] float32\n"
    "  (%5) = cond(%0) {\n"
    "    %3 = add(%2, %2) : [4] float32\n"
    "    return %3\n"
    "  } {\n"
    "    %4 = sin(%1) : [4] float32\n"
    "    return %2\n"
    "  } : [4] float32\n";

TEST(Uses, SeeIntoRegions) {
  const auto program = Parse(kNested);
  const ValueId outputs[] = {5};
  const Uses uses(*program, outputs);
  EXPECT_EQ(uses.of(2).size(), 3u);  // twice in add, once returned
  EXPECT_EQ(uses.of(1).size(), 2u);
  EXPECT_FALSE(uses.is_used(4));
  EXPECT_TRUE(uses.is_used(5));
  EXPECT_TRUE(uses.is_output(5));
  EXPECT_EQ(uses.maker(0), nullptr);
  const Operation* add = uses.maker(3);
  ASSERT_NE(add, nullptr);
  EXPECT_STREQ(add->op->name, "add");
  EXPECT_EQ(uses.block_of(*add),
            program->block().operations[1].regions[0].get());
}

TEST(Effects, FollowViews) {
  const Tensor w = Tensor::Empty({4}, DType::kFloat32);
  const auto program = Parse(
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = input \"x\" : [4] float32\n"
      "  %2 = reshape(%0, shape=[2, 2]) : [2, 2] float32\n"
      "  %3 = exp(%2) : [2, 2] float32\n"
      "  store_(%0, %1)\n",
      {w});
  const Effects effects(*program);
  const auto& operations = program->block().operations;
  EXPECT_TRUE(effects.is_changed(0));
  EXPECT_TRUE(effects.is_changed(2));
  EXPECT_FALSE(effects.is_changed(1));
  EXPECT_FALSE(effects.is_changed(3));
  EXPECT_TRUE(effects.depends(operations[2], operations[1]));
  EXPECT_TRUE(effects.depends(operations[1], operations[2]));
  EXPECT_FALSE(effects.depends(operations[0], operations[1]));
  EXPECT_TRUE(ChangesTensors(operations[2]));
  EXPECT_FALSE(ChangesTensors(operations[1]));
}

TEST(Clone, IsTheSameTextAndItsOwn) {
  const auto program = Parse(kNested);
  const auto copy = Clone(*program);
  copy->NoteCopyOf(program);
  EXPECT_EQ(ToText(*copy), ToText(*program));
  EXPECT_TRUE(copy->Shares(program, 5));
  copy->block().operations.pop_back();
  EXPECT_NE(ToText(*copy), ToText(*program));
  const ValueId later =
      program->AddValue(ValueKind::kResult, TensorMeta{{}, DType::kBool, {}});
  EXPECT_FALSE(copy->Shares(program, later));
  EXPECT_TRUE(Clone(*copy)->Shares(copy, 0) == false);
}

TEST(Rewriter, KeepsOutputsAndMoves) {
  const auto program = Parse(
      "  %0 = input \"x\" : [4] float32\n"
      "  %1 = exp(%0) : [4] float32\n"
      "  %2 = sin(%0) : [4] float32\n");
  const ValueId outputs[] = {1, 2};
  Rewriter r(program, outputs);
  EXPECT_THROW(r.ReplaceUses(1, 0), Error);
  EXPECT_FALSE(r.changed());
  r.MoveBehind(program->block().operations[0], program->block().operations[1]);
  EXPECT_TRUE(r.Commit());
  EXPECT_EQ(ToText(*program),
            "program {\n"
            "  %0 = input \"x\" : [4] float32\n"
            "  %2 = sin(%0) : [4] float32\n"
            "  %1 = exp(%0) : [4] float32\n"
            "}\n");
}

TEST(Rewriter, GivesNumbersAway) {
  const auto program = Parse(
      "  %0 = input \"x\" : [4] float32\n"
      "  %1 = exp(%0) : [4] float32\n"
      "  %2 = sin(%1) : [4] float32\n"
      "  %3 = cos(%2) : [4] float32\n");
  const ValueId outputs[] = {3};
  Rewriter r(program, outputs);
  Operation& sin = program->block().operations[1];
  ValueId made = kNoValue;
  r.RecordBefore(
      sin, [&] { made = SymbolOf(ops::exp(MakeSymbolic(program, 1))).id(); });
  r.MakeAs(2, made);
  r.Erase(sin);
  EXPECT_STREQ(r.uses().maker(2)->op->name, "exp");
  EXPECT_TRUE(r.Commit());
  EXPECT_TRUE(Verify(*program).ok());
  EXPECT_EQ(ToText(*program),
            "program {\n"
            "  %0 = input \"x\" : [4] float32\n"
            "  %1 = exp(%0) : [4] float32\n"
            "  %2 = exp(%1) : [4] float32\n"
            "  %3 = cos(%2) : [4] float32\n"
            "}\n");
}

TEST(Executor, IsMadeOnceForAVersion) {
  const auto program = std::make_shared<Program>();
  const Tensor x = AddInput(program, "x", {2}, DType::kFloat32);
  const Tensor y = ops::exp(x);
  const std::vector<ValueId> fetch = {SymbolOf(y).id()};
  const auto first = ExecutorOf(*program, fetch);
  EXPECT_EQ(ExecutorOf(*program, fetch), first);
  EXPECT_NE(ExecutorOf(*program, fetch, Changes::kNone), first);
  EXPECT_EQ(ExecutorOf(*program, fetch), first);
  ops::exp(y);
  EXPECT_NE(ExecutorOf(*program, fetch), first);
  EXPECT_THROW(ExecutorOf(*program, {99}), Error);
}

TEST(Executor, RefusesValuesOfRegions) {
  const auto program = Parse(kNested);
  EXPECT_THROW(Executor(*program, {3}), Error);
}

}  // namespace
}  // namespace proa::inline v0::jit
