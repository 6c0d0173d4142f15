#include "jit/recording_block.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "ops/elementwise/exponential_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(RegionScope, TakesOperationsAndNotesWhatComesFromOutside) {
  const auto program = std::make_shared<Program>();
  const Tensor x = AddInput(program, "x", {2}, DType::kFloat32);
  EXPECT_EQ(&CurrentBlock(*program), &program->block());
  EXPECT_FALSE(IsInRegion(*program));
  {
    RegionScope region(program);
    EXPECT_EQ(&CurrentBlock(*program), &region.block());
    EXPECT_TRUE(IsInRegion(*program));
    const Tensor y = ops::exp(x);
    const Tensor z = ops::exp(y);
    EXPECT_EQ(VisibleBlocks(*program).size(), 2u);
    const auto block = region.Finish({z, x});
    EXPECT_EQ(block->operations.size(), 2u);
    EXPECT_EQ(block->returns,
              std::vector<ValueId>({SymbolOf(z).id(), SymbolOf(x).id()}));
    // y is made inside.
    ASSERT_EQ(region.outer_uses().size(), 2u);
    for (const ValueUse& use : region.outer_uses()) {
      EXPECT_EQ(use.id, SymbolOf(x).id());
    }
  }
  EXPECT_TRUE(program->block().operations.empty());
  EXPECT_FALSE(IsInRegion(*program));
}

TEST(RefTo, NamesValuesCapturesTensorsAndKnowsNone) {
  const auto program = std::make_shared<Program>();
  const Tensor x = AddInput(program, "x", {2}, DType::kFloat32);
  const Tensor w = Floats({1, 2});
  EXPECT_EQ(RefTo(program, x).id, 0);
  EXPECT_EQ(RefTo(program, Tensor()).id, kNoValue);
  const ValueRef captured = RefTo(program, w);
  EXPECT_EQ(program->value(captured.id).kind, ValueKind::kCaptured);
  EXPECT_EQ(RefTo(program, w), captured);
  EXPECT_THROW(RefTo(std::make_shared<Program>(), x), Error);
}

}  // namespace
}  // namespace proa::inline v0::jit
