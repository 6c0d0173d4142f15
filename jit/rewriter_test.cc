#include "jit/rewriter.h"

#include <string>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "jit/verify.h"
#include "ops/elementwise/exponential_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

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

}  // namespace
}  // namespace proa::inline v0::jit
