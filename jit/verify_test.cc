#include "jit/verify.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/program.h"
#include "ops/definition.h"

namespace proa::inline v0::jit {
namespace {

// A program of `count` conds one after the other; each region makes a value.
std::shared_ptr<Program> ManyConds(int count) {
  auto program = std::make_shared<Program>();
  const ValueId p =
      program->AddValue(ValueKind::kInput, TensorMeta{{}, DType::kBool, {}});
  const ValueId x = program->AddValue(ValueKind::kInput,
                                      TensorMeta{{2}, DType::kFloat32, {}});
  for (int i = 0; i < count; ++i) {
    Operation cond;
    cond.op = FindOp("cond");
    cond.args = {ValueRef{p}};
    for (int r = 0; r < 2; ++r) {
      const ValueId y = program->AddValue(ValueKind::kResult,
                                          TensorMeta{{2}, DType::kFloat32, {}});
      auto region = std::make_unique<Block>();
      Operation call;
      call.op = FindOp("exp");
      call.args = {ValueRef{x}};
      call.results = {{y}};
      region->operations.push_back(std::move(call));
      region->returns = {y};
      cond.regions.push_back(std::move(region));
    }
    cond.results = {{program->AddValue(ValueKind::kResult,
                                       TensorMeta{{2}, DType::kFloat32, {}})}};
    program->block().operations.push_back(std::move(cond));
  }
  return program;
}

TEST(Verify, TakesTimeInProportionToTheProgram) {
  EXPECT_TRUE(Verify(*ManyConds(200000)).ok());  // else this does not end
}

TEST(Verify, WhatARegionMakesIsItsOwn) {
  const auto operations = [](Program& p) -> std::vector<Operation>& {
    return p.block().operations;
  };
  {
    const auto program = ManyConds(2);  // used behind the region
    Operation& first = operations(*program)[0];
    const ValueId hidden = first.regions[0]->returns[0];
    operations(*program)[1].regions[0]->operations[0].args = {ValueRef{hidden}};
    EXPECT_THAT(Verify(*program).message(),
                testing::HasSubstr("which is not made yet"));
  }
  {
    const auto program = ManyConds(2);  // made again by the other region
    Operation& first = operations(*program)[0];
    first.regions[1]->operations[0].results = {first.regions[0]->returns};
    EXPECT_THAT(Verify(*program).message(), testing::HasSubstr("again"));
  }
  {
    const auto program = ManyConds(2);  // made again outside
    Operation& first = operations(*program)[0];
    operations(*program)[1].results = {first.regions[0]->returns};
    EXPECT_THAT(Verify(*program).message(), testing::HasSubstr("again"));
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
