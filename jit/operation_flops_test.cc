#include "jit/operation_flops.h"

#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

TEST(FlopsOfOperations, AreThoseOfTheSizes) {
  const auto program = Parse(R"(  %0 = input "x" : [4, 6] float32
  %1 = input "y" : [6, 8] float32
  %2 = matmul(%0, %1, transpose_x=false, transpose_y=false) : [4, 8] float32
  %3 = exp(%2) : [4, 8] float32
  %4 = sum(%3, axis=[], dtype=None, keepdim=false) : [] float32)");
  EXPECT_EQ(FlopsOfOperations(*program),
            std::vector<double>({2.0 * 4 * 6 * 8, 4 * 8, 4 * 8}));
}

TEST(FlopsOfOperations, UnknownSizesCountNothingAndRegionsOnce) {
  const auto program = Parse(R"(  %0 = input "x" : [?, 6] float32
  %1 = input "y" : [5] float32
  %2 = input "p" : [] bool
  %3 = exp(%0) : [?, 6] float32
  (%6) = cond(%2) {
    %4 = exp(%1) : [5] float32
    return %4
  } {
    %5 = sin(%1) : [5] float32
    return %5
  } : [5] float32)");
  EXPECT_EQ(FlopsOfOperations(*program), std::vector<double>({0, 10}));
}

}  // namespace
}  // namespace proa::inline v0::jit
