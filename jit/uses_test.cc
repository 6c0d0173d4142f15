#include "jit/uses.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

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

TEST(Uses, ArgumentsResultsAndUsesOfAnOperation) {
  const auto program = Parse(kNested);
  const Operation& cond = program->block().operations[1];
  std::vector<ValueId> seen;
  ForEachArgument(cond, [&](const ValueRef& r) { seen.push_back(r.id); });
  EXPECT_EQ(seen, std::vector<ValueId>({0}));
  seen.clear();
  ForEachResult(cond, [&](ValueId id) { seen.push_back(id); });
  EXPECT_EQ(seen, std::vector<ValueId>({5}));
  seen.clear();
  ForEachUse(cond, [&](ValueId id) { seen.push_back(id); });
  EXPECT_EQ(seen, std::vector<ValueId>({0, 2, 2, 3, 1, 2}));
}

}  // namespace
}  // namespace proa::inline v0::jit
