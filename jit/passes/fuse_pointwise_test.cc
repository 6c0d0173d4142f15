// The pass fuse_pointwise: which chains become one loop.
#include <string>

#include "gtest/gtest.h"
#include "jit/passes/pass_for_test.h"

namespace proa::inline v0::jit {
namespace {

TEST(FusePointwise, ChainsOfLargeTensorsAreOneOperation) {
  EXPECT_EQ(After("fuse_pointwise",
                  "  %0 = input \"x\" : [2000, 1000] float32\n"
                  "  %1 = input \"b\" : [1000] float32\n"
                  "  %2 = add(%0, %1) : [2000, 1000] float32\n"
                  "  %3 = sum(%0, axis=[1], dtype=None, keepdim=true) : [2000, "
                  "1] float32\n"
                  "  %4 = tanh(%2) : [2000, 1000] float32\n"
                  "  %5 = divide(%4, %3) : [2000, 1000] float32\n",
                  {4, 5}),
            "  %0 = input \"x\" : [2000, 1000] float32\n"
            "  %1 = input \"b\" : [1000] float32\n"
            "  %3 = sum(%0, axis=[1], dtype=None, keepdim=true) : [2000, 1] "
            "float32\n"
            "  (%4, %5) = pointwise([%0, %1, %3]) {\n"
            "    %6 = argument : [2000, 1000] float32\n"
            "    %7 = argument : [1000] float32\n"
            "    %10 = argument : [2000, 1] float32\n"
            "    %8 = add(%6, %7) : [2000, 1000] float32\n"
            "    %9 = tanh(%8) : [2000, 1000] float32\n"
            "    %11 = divide(%9, %10) : [2000, 1000] float32\n"
            "    return %9, %11\n"
            "  } : [2000, 1000] float32, [2000, 1000] float32\n");
}

// Each open size of a program as text has a name of its own, as in one from a
// file.
TEST(FusePointwise, OpenSizesAreLookedAtWhenTheProgramRuns) {
  EXPECT_EQ(After("fuse_pointwise",
                  "  %0 = input \"x\" : [?, 64] float32\n"
                  "  %1 = input \"y\" : [?, 64] float32\n"
                  "  %2 = add(%0, %1) : [?, 64] float32\n"
                  "  %3 = relu(%2) : [?, 64] float32\n",
                  {3}),
            "  %0 = input \"x\" : [?, 64] float32\n"
            "  %1 = input \"y\" : [?, 64] float32\n"
            "  (%3) = pointwise([%0, %1]) {\n"
            "    %4 = argument : [?, 64] float32\n"
            "    %5 = argument : [?, 64] float32\n"
            "    %6 = add(%4, %5) : [?, 64] float32\n"
            "    %7 = relu(%6) : [?, 64] float32\n"
            "    return %7\n"
            "  } : [?, 64] float32\n");
  // %2 may be one row where %3 has many.
  const std::string of_two_shapes =
      "  %0 = input \"x\" : [?, 64] float32\n"
      "  %1 = input \"y\" : [?, 64] float32\n"
      "  %2 = relu(%0) : [?, 64] float32\n"
      "  %3 = add(%2, %1) : [?, 64] float32\n";
  EXPECT_EQ(After("fuse_pointwise", of_two_shapes, {2, 3}), of_two_shapes);
}

TEST(FusePointwise, LeavesWhatGainsNothingOrMustKeepItsOrder) {
  for (const char* body :
       {// Small.
        "  %0 = input \"x\" : [500, 500] float32\n"
        "  %1 = exp(%0) : [500, 500] float32\n"
        "  %2 = tanh(%1) : [500, 500] float32\n",
        "  %0 = input \"x\" : [20, 10] float32\n"
        "  %1 = exp(%0) : [20, 10] float32\n"
        "  %2 = tanh(%1) : [20, 10] float32\n",
        // Not linked.
        "  %0 = input \"x\" : [2000, 1000] float32\n"
        "  %1 = exp(%0) : [2000, 1000] float32\n"
        "  %2 = tanh(%0) : [2000, 1000] float32\n",
        // Of two shapes.
        "  %0 = input \"x\" : [2000, 1000] float32\n"
        "  %1 = input \"y\" : [3, 2000, 1000] float32\n"
        "  %2 = exp(%0) : [2000, 1000] float32\n"
        "  %3 = add(%2, %1) : [3, 2000, 1000] float32\n",
        // Used in between.
        "  %0 = input \"x\" : [2000, 1000] float32\n"
        "  %1 = exp(%0) : [2000, 1000] float32\n"
        "  %2 = sum(%1, axis=[1], dtype=None, keepdim=true) : [2000, 1] "
        "float32\n"
        "  %3 = divide(%1, %2) : [2000, 1000] float32\n"}) {
    EXPECT_EQ(After("fuse_pointwise", body, {1, 2}), body);
  }
  const std::string changed =
      "  %0 = captured \"w\" : [4] float32\n"
      "  %1 = input \"x\" : [2000000, 4] float32\n"
      "  %2 = add(%1, %0) : [2000000, 4] float32\n"
      "  %3 = exp(%0) : [4] float32\n"
      "  store_(%0, %3)\n"
      "  %4 = tanh(%2) : [2000000, 4] float32\n";
  EXPECT_EQ(After("fuse_pointwise", changed, {4}, 1), changed);
}

}  // namespace
}  // namespace proa::inline v0::jit
