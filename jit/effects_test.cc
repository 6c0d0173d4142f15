#include "jit/effects.h"

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

TEST(Effects, FollowViews) {
  const auto program = Parse(
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = input \"x\" : [4] float32\n"
      "  %2 = reshape(%0, shape=[2, 2]) : [2, 2] float32\n"
      "  %3 = exp(%2) : [2, 2] float32\n"
      "  store_(%0, %1)\n",
      {Floats({1, 2, 3, 4})});
  const Effects effects(*program);
  const auto& operations = program->block().operations;
  EXPECT_TRUE(effects.is_changed(0));
  EXPECT_TRUE(effects.is_changed(2));
  EXPECT_FALSE(effects.is_changed(1));
  EXPECT_FALSE(effects.is_changed(3));
  EXPECT_TRUE(effects.changes(operations[2], 2));
  EXPECT_FALSE(effects.changes(operations[2], 3));
  EXPECT_TRUE(effects.depends(operations[2], operations[1]));
  EXPECT_TRUE(effects.depends(operations[1], operations[2]));
  EXPECT_FALSE(effects.depends(operations[0], operations[1]));
  EXPECT_TRUE(ChangesTensors(operations[2]));
  EXPECT_FALSE(ChangesTensors(operations[1]));
}

TEST(Effects, TensorsOfOneStorageAreOneMemory) {
  const Tensor w = Floats({1, 2});
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = captured \"alias\" : [2] float32\n"
      "  %2 = captured \"other\" : [2] float32\n"
      "  store_(%0, %2)\n",
      {w, w.Alias(), Floats({3, 4})});
  const Effects effects(*program);
  EXPECT_EQ(effects.memory_of(0), effects.memory_of(1));
  EXPECT_NE(effects.memory_of(0), effects.memory_of(2));
  EXPECT_TRUE(effects.is_changed(1));
  EXPECT_FALSE(effects.is_changed(2));
}

TEST(Effects, WhatRegionsGiveMayBeAnything) {
  const auto program = Parse(
      "  %0 = input \"p\" : [] bool\n"
      "  %1 = captured \"w\" : [2] float32\n"
      "  %2 = input \"x\" : [2] float32\n"
      "  (%4) = cond(%0) {\n"
      "    store_(%1, %2)\n"
      "    return %1\n"
      "  } {\n"
      "    return %2\n"
      "  } : [2] float32\n"
      "  %5 = exp(%4) : [2] float32\n",
      {Floats({1, 2})});
  const Effects effects(*program);
  const ValueId given =
      program->block().operations[0].results[0][0];  // numbered anew
  EXPECT_TRUE(ChangesTensors(program->block().operations[0]));
  EXPECT_EQ(effects.memory_of(given), Effects::kAnything);
  EXPECT_TRUE(effects.is_changed(given));
}

TEST(Effects, WhatMayStandForACopy) {
  const auto program = Parse(
      "  %0 = input \"x\" : [4] float32\n"
      "  %1 = assign(%0) : [4] float32\n"
      "  %2 = reshape(%1, shape=[2, 2]) : [2, 2] float32\n"
      "  %3 = exp(%0) : [4] float32\n"
      "  %4 = assign(%3) : [4] float32\n"
      "  %5 = assign(%0) : [4] float32\n"
      "  %6 = sin(%5) : [4] float32\n");
  const ValueId outputs[] = {2, 4, 6};
  const Uses uses(*program, outputs);
  const Effects effects(*program);
  EXPECT_FALSE(effects.may_stand_for(0, 1, uses));  // a view would go out
  EXPECT_TRUE(effects.may_stand_for(3, 4, uses));   // made by the program
  EXPECT_TRUE(effects.may_stand_for(0, 5, uses));   // read only
}

}  // namespace
}  // namespace proa::inline v0::jit
