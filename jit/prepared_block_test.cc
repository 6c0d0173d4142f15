#include "jit/prepared_block.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "jit/evaluate.h"
#include "jit/program_for_test.h"
#include "ops/value.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(PreparedBlock, AttributesStandInItAndTensorsDoNot) {
  const auto program = Parse(
      "  %0 = input \"x\" : [2, 3] float32\n"
      "  %1 = sum(%0, axis=[1], dtype=None, keepdim=false) : [2] float32\n");
  const PreparedBlock block = Prepare(*program, program->block(), nullptr);
  ASSERT_EQ(block.steps.size(), 1u);
  const PreparedBlock::Step& step = block.steps[0];
  ASSERT_EQ(step.args.size(), step.operation->args.size());
  EXPECT_FALSE(std::get<Tensor>(block.values[step.args.begin]).defined());
  EXPECT_EQ(ToString(block.values[step.args.begin + 1]), "[1]");
  EXPECT_EQ(step.takes.size(), 1u);
  EXPECT_EQ(step.gives.size(), 1u);
}

TEST(PreparedBlock, TheLastUseOfAValueMovesIt) {
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = input \"x\" : [2] float32\n"
      "  %2 = multiply(%1, %1) : [2] float32\n"
      "  %3 = add(%2, %0) : [2] float32\n",
      {Floats({1, 2})});
  const ReleasePlan release = {{1}, {2, 0, 3}};
  const PreparedBlock block = Prepare(*program, program->block(), &release);
  std::string last;  // by take: x, x, %2, w
  for (const PreparedBlock::Take& t : block.takes) last += t.last ? 'y' : 'n';
  EXPECT_EQ(last, "nyyn");  // a captured tensor stays
  EXPECT_EQ(block.releases, std::vector<ValueId>{3});  // made and never read
}

TEST(PreparedBlock, AnEnvironmentServesManyRunsAndKeepsNothing) {
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = input \"x\" : [2] float32\n"
      "  %2 = concat([%1, %0, %1], axis=0) : [6] float32\n"
      "  (%3, %4) = split(%2, sections=[4, 2], axis=0) : [4] float32, "
      "[2] float32\n",
      {Floats({1, 2})});
  const ReleasePlan release = {{1}, {2, 3}};
  Environment env = MakeEnvironment(*program);
  for (const float k : {1.0f, 2.0f}) {
    const Tensor x = Floats({k, k});
    env[1] = x;
    Evaluate(*program, program->block(), env, &release);
    EXPECT_EQ(Elements(env[4]), std::vector<float>({k, k}));
    EXPECT_FALSE(env[1].defined() || env[2].defined() || env[3].defined());
    EXPECT_EQ(x.impl()->use_count(), 1);
  }
  EXPECT_EQ(env[0].impl()->use_count(), 2);  // and the program's
}

TEST(PreparedBlock, ValuesOfARegionEndWithTheirLastUse) {
  const auto program = Parse(
      "  %0 = input \"x\" : [1] float32\n"
      "  %1 = input \"go on\" : [] bool\n"
      "  (%2) = cond(%1) {\n"
      "    %3 = exp(%0) : [1] float32\n"
      "    %4 = neg(%3) : [1] float32\n"
      "    return %4\n"
      "  } {\n"
      "    return %0\n"
      "  } : [1] float32\n");
  const Block& then = *program->block().operations[0].regions[0];
  const PreparedBlock block = Prepare(*program, then, nullptr);
  std::string last;  // x is seen outside; %3 is not; %4 is returned
  for (const PreparedBlock::Take& t : block.takes) last += t.last ? 'y' : 'n';
  EXPECT_EQ(last, "ny");
  EXPECT_TRUE(block.releases.empty());
}

TEST(PreparedBlock, ARegionGivesAwayWhatItReturnsAndKeepsNothing) {
  const auto program = Parse(
      "  %0 = input \"x\" : [1] float32\n"
      "  %1 = input \"go on\" : [] bool\n"
      "  (%8, %9, %10) = while([%1, %0, %0]) {\n"
      "    %2 = argument : [] bool\n"
      "    %3 = argument : [1] float32\n"
      "    %11 = argument : [1] float32\n"
      "    return %2\n"
      "  } {\n"
      "    %4 = argument : [] bool\n"
      "    %5 = argument : [1] float32\n"
      "    %12 = argument : [1] float32\n"
      "    %6 = less_than(%5, %0) : [1] bool\n"
      "    %7 = exp(%5) : [1] float32\n"
      "    %13 = any(%6, axis=[], keepdim=false) : [] bool\n"
      "    return %13, %7, %7\n"
      "  } : [] bool, [1] float32, [1] float32\n");
  const Operation& loop = program->block().operations[0];
  const PreparedBlock body = Prepare(*program, *loop.regions[1], nullptr);
  EXPECT_EQ(body.gives_away, std::vector<bool>({true, false, true}));
  Environment env = MakeEnvironment(*program);
  env[0] = Floats({1});
  env[1] = Tensor::Scalar(true);
  Evaluate(*program, program->block(), env);
  EXPECT_FLOAT_EQ(Elements(env[loop.results[0][2]])[0], std::exp(1.0f));
  for (const auto& region : loop.regions) {
    for (ValueId id : region->arguments) EXPECT_FALSE(env[id].defined());
  }
  for (ValueId id : loop.regions[1]->returns) EXPECT_FALSE(env[id].defined());
}

TEST(PreparedBlock, ARunThatFailedLeavesTheExecutorWhole) {
  const auto program = Parse(
      "  %0 = input \"x\" : [?] float32\n"
      "  %1 = input \"y\" : [?] float32\n"
      "  %2 = add(%0, %1) : [?] float32\n"
      "  %3 = exp(%2) : [?] float32\n");
  Environment env = MakeEnvironment(*program);
  env[0] = Floats({1, 2});
  env[1] = Floats({1, 2, 3});
  EXPECT_THROW(Evaluate(*program, program->block(), env), Error);
  env[1] = Floats({-1, -2});
  Evaluate(*program, program->block(), env);
  EXPECT_EQ(Elements(env[3]), std::vector<float>({1, 1}));
}

}  // namespace
}  // namespace proa::inline v0::jit
