// What every op with regions has, and what the verifier asks of regions.
#include "jit/region_op.h"

#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(RegionOps, HaveTheirRules) {
  int found = 0;
  for (const OpDefinition* op : AllOps()) {
    if (op->regions == nullptr) continue;
    ++found;
    EXPECT_NE(op->regions->counts, nullptr) << op->name;
    EXPECT_NE(op->regions->evaluate, nullptr) << op->name;
    EXPECT_GT(std::string_view(op->doc).size(), 10u) << op->name;
    std::vector<Value> args(op->params.size()), results(op->outputs.size());
    EXPECT_THROW(op->call(args, results), Error) << op->name;
  }
  EXPECT_GE(found, 5);
}

TEST(RegionOps, RegionsThatDoNotFitAreRefused) {
  const std::string loop =
      "program {\n"
      "  %0 = input \"x\" : [] float32\n"
      "  %1 = input \"p\" : [] bool\n"
      "  (%2) = while([%0]) {\n"
      "    %3 = argument : [] float32\n"
      "    return %1\n"
      "  } {\n"
      "    %4 = argument : [] float32\n"
      "    %5 = exp(%4) : [] float32\n"
      "    return %5\n"
      "  } : [] float32\n"
      "  %6 = sin(%2) : [] float32\n"
      "}\n";
  EXPECT_TRUE(ParseText(loop, {}).ok());
  for (const auto& [from, to, says] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"return %1", "return %1, %1",
            "region condition has 1 arguments and 2 returns; expected 1 and 1"},
           {"    %4 = argument : [] float32\n    %5 = exp(%4)",
            "    %5 = exp(%0)", "region body has 0 arguments"},
           {"[%0]", "[%0, %0]", "has 2 variables and 1 results"},
           {"sin(%2)", "sin(%5)", "which is not made yet"},
           {"return %5\n  } :", "return %3\n  } :", "which is not made yet"}}) {
    std::string bad = loop;
    bad.replace(bad.find(from), from.size(), to);
    const auto refused = ParseText(bad, {});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(std::string(refused.status().message()).find(says),
              std::string::npos)
        << refused.status();
  }
}

TEST(RegionOps, JoinOfMetas) {
  const TensorMeta a{{2, 3}, DType::kFloat32, {}};
  const TensorMeta b{{2, 4}, DType::kFloat32, {}};
  EXPECT_EQ(Join("f", 0, a, a).shape, a.shape);
  EXPECT_EQ(Join("f", 0, a, b).shape, Shape({2, kUnknownDim}));
  EXPECT_THROW(Join("f", 0, a, {{2}, DType::kFloat32, {}}), Error);
  EXPECT_THROW(Join("f", 0, a, {{2, 3}, DType::kInt64, {}}), Error);
}

TEST(RegionOps, TraitsAreSeenThroughRegions) {
  const auto program = Parse(
      "  %0 = input \"p\" : [] bool\n"
      "  %1 = captured \"w\" : [2] float32\n"
      "  (%3) = cond(%0) {\n"
      "    store_(%1, %1)\n"
      "    return %1\n"
      "  } {\n"
      "    return %1\n"
      "  } : [2] float32\n",
      {Floats({1, 2})});
  EXPECT_TRUE(HasTrait(program->block(), kTraitInplace));
  EXPECT_FALSE(HasTrait(program->block(), kTraitRandom));
  EXPECT_FALSE(HasTrait(Parse(kNested)->block(), kTraitInplace));
}

}  // namespace
}  // namespace proa::inline v0::jit
