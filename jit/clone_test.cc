#include "jit/clone.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

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
  EXPECT_FALSE(Clone(*copy)->Shares(copy, 0));
}

TEST(Clone, SharesCapturedTensors) {
  const Tensor w = Floats({1, 2});
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n",
      {w});
  const auto copy = Clone(*program);
  EXPECT_EQ(copy->FindCaptured(w), 0);
  EXPECT_EQ(copy->value(0).captured.impl(), w.impl());
}

TEST(CopyOperation, NumbersWhatHasNone) {
  const auto from = Parse(kNested);
  const auto to = std::make_shared<Program>();
  AddInput(to, "q", {}, DType::kBool);
  AddInput(to, "y", {4}, DType::kFloat32);
  // %2 of the copied operation stands for the second input here.
  std::vector<ValueId> ids = {0, 1, 1, kNoValue, kNoValue, kNoValue};
  to->block().operations.push_back(
      CopyOperation(*from, from->block().operations[1], *to, ids));
  EXPECT_EQ(ids, std::vector<ValueId>({0, 1, 1, 2, 3, 4}));
  EXPECT_EQ(ToText(*to),
            "program {\n"
            "  %0 = input \"q\" : [] bool\n"
            "  %1 = input \"y\" : [4] float32\n"
            "  (%4) = cond(%0) {\n"
            "    %2 = add(%1, %1) : [4] float32\n"
            "    return %2\n"
            "  } {\n"
            "    %3 = sin(%1) : [4] float32\n"
            "    return %1\n"
            "  } : [4] float32\n"
            "}\n");
}

}  // namespace
}  // namespace proa::inline v0::jit
