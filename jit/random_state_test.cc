#include "jit/random_state.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"
#include "jit/verify.h"
#include "ops/creation/random_ops.h"

namespace proa::inline v0::jit {
namespace {

Tensor Draw() {
  return ops::uniform(IntArray({4}), DType::kFloat32, Scalar(0.0), Scalar(1.0));
}

TEST(RandomState, IsTakenUpAndGivenBack) {
  const auto program = std::make_shared<Program>();
  Tensor first, again, after;
  {
    const StaticModeScope scope(program);
    const Tensor state = RecordRandomState(program);
    first = Draw();
    again = WithRandomState(state, [] { return TensorList{Draw()}; })[0];
    after = Draw();
  }
  EXPECT_TRUE(Verify(*program).ok());
  SeedAll(5);
  const auto out = RunProgram({first, again, after}, {});
  SeedAll(5);
  const Tensor one = Draw(), two = Draw();
  EXPECT_EQ(Elements(out[0]), Elements(one));
  EXPECT_EQ(Elements(out[1]), Elements(one));
  EXPECT_EQ(Elements(out[2]), Elements(two));
}

TEST(RandomStateScope, OfNoStateDoesNothing) {
  SeedAll(5);
  const Tensor want = Draw();
  SeedAll(5);
  const RandomStateScope scope{Tensor()};
  EXPECT_EQ(Elements(Draw()), Elements(want));
}

}  // namespace
}  // namespace proa::inline v0::jit
