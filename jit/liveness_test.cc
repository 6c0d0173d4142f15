#include "jit/liveness.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

using Ids = std::vector<ValueId>;

TEST(Liveness, SkipsWhatNobodyNeedsAndReleasesAfterTheLastUse) {
  const auto program = Parse(
      "  %0 = input \"x\" : [4] float32\n"
      "  %1 = exp(%0) : [4] float32\n"
      "  %2 = sin(%0) : [4] float32\n"
      "  %3 = cos(%1) : [4] float32\n"
      "  %4 = add(%3, %0) : [4] float32\n");
  const Liveness l = Analyze(*program, {4}, Changes::kAll);
  EXPECT_EQ(l.skip, std::vector<bool>({false, true, false, false}));
  EXPECT_EQ(l.live, std::vector<bool>({true, true, false, true, true}));
  EXPECT_EQ(l.last_use, std::vector<Ids>({{}, {}, {1}, {3, 0}}));
}

TEST(Liveness, AResultThatNobodyUsesGoesAtOnce) {
  const auto program = Parse(
      "  %0 = input \"x\" : [4] float32\n"
      "  %1, %2 = topk(%0, k=2, axis=-1, largest=true, sorted=true) : [2] "
      "float32, [2] int64\n");
  const Liveness l = Analyze(*program, {1}, Changes::kAll);
  EXPECT_EQ(l.last_use, std::vector<Ids>({{2, 0}}));
}

TEST(Liveness, CapturedTensorsAreTheCallers) {
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n",
      {Floats({1, 2})});
  EXPECT_EQ(Analyze(*program, {1}, Changes::kAll).last_use,
            std::vector<Ids>({{}}));
}

TEST(Liveness, ReadsOfRegionsCount) {
  const auto program = Parse(kNested);
  const Liveness l = Analyze(*program, {5}, Changes::kAll);
  EXPECT_EQ(l.skip, std::vector<bool>({false, false}));
  EXPECT_TRUE(l.live[2]);
}

TEST(Liveness, WhichChangesAreNeeded) {
  // `n` counts itself and `m` follows it; only `k` is read by the output.
  const auto program = Parse(
      "  %0 = captured \"n\" : [2] float32\n"
      "  %1 = captured \"m\" : [2] float32\n"
      "  %2 = captured \"k\" : [2] float32\n"
      "  store_(%1, %0)\n"
      "  store_(%2, %1)\n"
      "  store_(%0, %0)\n"
      "  %3 = exp(%2) : [2] float32\n",
      {Floats({1, 2}), Floats({1, 2}), Floats({1, 2})});
  const ValueId out = program->block().operations.back().results[0][0];
  const auto skipped = [&](Changes changes) {
    return Analyze(*program, {out}, changes).skip;
  };
  EXPECT_EQ(skipped(Changes::kAll),
            std::vector<bool>({false, false, false, false}));
  EXPECT_EQ(skipped(Changes::kNone),
            std::vector<bool>({true, true, true, false}));
  // The change of k reads m, whose change reads n.
  EXPECT_EQ(skipped(Changes::kRead),
            std::vector<bool>({false, false, false, false}));
}

// A statistic that is made on the way is kept, what a gradient does is not.
TEST(Liveness, ChangesByWhatIsMade) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = captured \"mean\" : [2] float32\n"
      "  %2 = captured \"weight\" : [2] float32\n"
      "  %3 = exp(%0) : [2] float32\n"
      "  store_(%1, %3)\n"
      "  store_(%2, %1)\n"
      "  %4 = multiply(%3, %2) : [2] float32\n"
      "  %5 = add(%4, %3) : [2] float32\n"
      "  store_(%2, %5)\n",
      {Floats({1, 2}), Floats({1, 2})});
  EXPECT_EQ(Analyze(*program, {4}, Changes::kMade).skip,
            std::vector<bool>({false, false, true, false, true, true}));
  EXPECT_EQ(Analyze(*program, {5}, Changes::kMade).skip,
            std::vector<bool>({false, false, true, false, false, false}));
}

// What prints is needed by every program that has what it prints.
TEST(Liveness, WhatReachesOutIsNeeded) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = input \"label\" : [2] float32\n"
      "  %2 = captured \"\" : [2] float32\n"
      "  %3 = exp(%0) : [2] float32\n"
      "  print_(%3, %2, before=\"\", after=\"\\n\", stop_gradient=true)\n"
      "  %4 = add(%3, %1) : [2] float32\n"
      "  print_(%4, %2, before=\"\", after=\"\\n\", stop_gradient=true)\n"
      "  %5 = abs(%0) : [2] float32\n",
      {Floats({0, 0})});
  const auto skipped = [&](Changes changes, ValueId out,
                           const std::vector<ValueId>& given = {}) {
    return Analyze(*program, {out}, changes, given).skip;
  };
  const auto& operations = program->block().operations;
  EXPECT_TRUE(ReachesOut(operations[1]));
  EXPECT_FALSE(ReachesOut(operations[0]));
  for (const Changes changes : {Changes::kNone, Changes::kRead}) {
    EXPECT_EQ(skipped(changes, 5),
              std::vector<bool>({false, false, true, true, false}));
    EXPECT_EQ(skipped(changes, 5, {0, 1}), std::vector<bool>(5, false));
    EXPECT_EQ(skipped(changes, 4),
              std::vector<bool>({false, false, false, false, true}));
  }
  EXPECT_EQ(skipped(Changes::kAll, 5), std::vector<bool>(5, false));
}

}  // namespace
}  // namespace proa::inline v0::jit
