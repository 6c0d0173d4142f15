// The pass without_reserves: recurrences of which nobody asks for gradients.
#include <string>

#include "gtest/gtest.h"
#include "jit/passes/pass_for_test.h"

namespace proa::inline v0::jit {
namespace {

std::string Body(const std::string& keeps) {
  return "  %0 = input \"x\" : [1, 2, 3] float32\n"
         "  %1 = input \"i\" : [8, 3] float32\n"
         "  %2 = input \"s\" : [8, 2] float32\n"
         "  %3, %4, %5, %6 = rnn(%0, %1, %2, None, None, None, None, None, "
         "None, mode=\"LSTM\", reverse=true, time_major=false, keep_reserve=" +
         keeps + ") : [1, 2, 2] float32, [1, 2] float32, [1, 2] float32, ";
}

TEST(WithoutReserves, NothingIsKeptThatNobodyReads) {
  const std::string then = "  %7 = exp(%3) : [1, 2, 2] float32\n";
  const std::string after =
      After("without_reserves", Body("true") + "[2, 1, 48] uint8\n" + then,
            {7, 4, 5});
  EXPECT_NE(after.find("keep_reserve=false"), std::string::npos) << after;
  EXPECT_NE(after.find("mode=\"LSTM\", reverse=true, time_major=false"),
            std::string::npos)
      << after;
}

TEST(WithoutReserves, NotWhereOneIsRead) {
  const std::string body =
      Body("true") +
      "[2, 1, 48] uint8\n  %7 = cast(%6, dtype=int32) : [2, 1, 48] int32\n";
  EXPECT_EQ(After("without_reserves", body, {3, 7}), body);
  // It goes out itself.
  const std::string alone = Body("true") + "[2, 1, 48] uint8\n";
  EXPECT_EQ(After("without_reserves", alone, {3, 6}), alone);
}

}  // namespace
}  // namespace proa::inline v0::jit
