#include "jit/plan.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(Plan, HoldsWhatIsNeededUnderTheSameNumbers) {
  const auto program = Parse(
      "  %0 = captured \"w\" : [2] float32\n"
      "  %1 = captured \"unused\" : [2] float32\n"
      "  %2 = input \"x\" : [2] float32\n"
      "  %3 = input \"also unused\" : [2] float32\n"
      "  %4 = add(%0, %2) : [2] float32\n"
      "  %5 = add(%1, %3) : [2] float32\n"
      "  %6 = exp(%4) : [2] float32\n",
      {Floats({1, 2}), Floats({3, 4})});
  const Plan plan = MakePlan(*program, {6}, Changes::kAll);
  EXPECT_EQ(plan.inputs, std::vector<ValueId>({2}));
  EXPECT_EQ(plan.captured, std::vector<ValueId>({0}));
  EXPECT_EQ(plan.program->block().operations.size(), 2u);
  EXPECT_EQ(plan.program->values().size(), program->values().size());
  EXPECT_EQ(program->block().operations.size(), 3u);  // as it was
}

TEST(Plan, PassesRunAndWhatTheyLeaveOverGoes) {
  // The second exp is the first one; then nobody needs it.
  const auto program = Parse(
      "  %0 = input \"x\" : [2] float32\n"
      "  %1 = exp(%0) : [2] float32\n"
      "  %2 = exp(%0) : [2] float32\n"
      "  %3 = add(%1, %2) : [2] float32\n");
  const Plan plan = MakePlan(*program, {3}, Changes::kAll);
  EXPECT_EQ(plan.program->block().operations.size(), 2u);
}

TEST(Plan, RefusesWhatTheProgramDoesNotMake) {
  const auto program = Parse(kNested);
  for (const ValueId id : {-1, 3, 99}) {
    EXPECT_THROW(MakePlan(*program, {id}, Changes::kAll), Error) << id;
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
