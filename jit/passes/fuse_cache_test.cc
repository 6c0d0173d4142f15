// The pass fuse_cache: what it joins, and what it leaves alone.
#include <string>

#include "gtest/gtest.h"
#include "jit/passes/pass_for_test.h"

namespace proa::inline v0::jit {
namespace {

constexpr char kInputs[] =
    "  %0 = input \"q\" : [2, 1, 3, 4] float32\n"
    "  %1 = input \"past\" : [2, ?, 3, 4] float32\n"
    "  %2 = input \"k\" : [2, 1, 3, 4] float32\n"
    "  %3 = input \"v\" : [2, 1, 3, 4] float32\n";

std::string Joined(const std::string& axis = "1") {
  return "  %4 = concat([%1, %2], axis=" + axis +
         ") : [2, ?, 3, 4] float32\n"
         "  %5 = concat([%1, %3], axis=" +
         axis + ") : [2, ?, 3, 4] float32\n";
}

constexpr char kAttention[] =
    "  %6 = attention(%0, %4, %5, None, scale=0.5) : [2, 1, 3, 4] float32\n";

std::string Fused(const std::string& body, std::vector<ValueId> outputs = {6}) {
  return After("fuse_cache", body, std::move(outputs));
}

TEST(FuseCache, ReadsThePartsWhereTheyLie) {
  const std::string want =
      std::string(kInputs) +
      "  %6 = attention_cached(%0, %1, %2, %1, %3, None, scale=0.5) : "
      "[2, 1, 3, 4] float32\n";
  EXPECT_EQ(Fused(kInputs + Joined() + kAttention), want);
  EXPECT_EQ(Fused(kInputs + Joined("-3") + kAttention), want);
}

// What is joined is an output of the program, used twice, or joined along
// another axis.
TEST(FuseCache, NotWhereTheJoinedOnesAreNeeded) {
  const std::string body = kInputs + Joined() + kAttention;
  EXPECT_EQ(Fused(body, {4, 6}), body);
  EXPECT_EQ(Fused(body, {6, 5}), body);
  const std::string twice = body + "  %7 = exp(%4) : [2, ?, 3, 4] float32\n";
  EXPECT_EQ(Fused(twice, {6, 7}), twice);
  const std::string same =
      kInputs + Joined() +
      "  %6 = attention(%0, %4, %4, None, scale=0.5) : [2, 1, 3, 4] float32\n";
  EXPECT_NE(Fused(same).find(" attention("), std::string::npos);
  const std::string along_heads =
      "  %0 = input \"q\" : [2, 1, 6, 4] float32\n"
      "  %1 = input \"past\" : [2, 5, 3, 4] float32\n"
      "  %2 = input \"k\" : [2, 5, 3, 4] float32\n"
      "  %3 = input \"v\" : [2, 5, 3, 4] float32\n"
      "  %4 = concat([%1, %2], axis=2) : [2, 5, 6, 4] float32\n"
      "  %5 = concat([%1, %3], axis=2) : [2, 5, 6, 4] float32\n"
      "  %6 = attention(%0, %4, %5, None, scale=0.5) : [2, 1, 6, 4] float32\n";
  EXPECT_EQ(Fused(along_heads), along_heads);
  const std::string three =
      std::string(kInputs) +
      "  %4 = concat([%1, %2, %2], axis=1) : [2, ?, 3, 4] float32\n"
      "  %5 = concat([%1, %3, %3], axis=1) : [2, ?, 3, 4] float32\n" +
      kAttention;
  EXPECT_EQ(Fused(three), three);
}

// As exporters write it: heads before rows.
TEST(FuseCache, PutsThePartsInOrder) {
  const std::string body =
      "  %0 = input \"q\" : [2, 1, 3, 4] float32\n"
      "  %1 = input \"past\" : [2, 3, 7, 4] float32\n"
      "  %2 = input \"k\" : [2, 3, 1, 4] float32\n"
      "  %3 = concat([%1, %2], axis=2) : [2, 3, 8, 4] float32\n"
      "  %4 = concat([%1, %2], axis=-2) : [2, 3, 8, 4] float32\n"
      "  %5 = transpose(%3, perm=[0, 2, 1, 3]) : [2, 8, 3, 4] float32\n"
      "  %6 = transpose(%4, perm=[0, 2, 1, 3]) : [2, 8, 3, 4] float32\n"
      "  %7 = attention(%0, %5, %6, None, scale=1.0) : [2, 1, 3, 4] float32\n";
  EXPECT_EQ(
      Fused(body, {7}),
      body.substr(0, body.find("  %3")) +
          "  %8 = transpose(%1, perm=[0, 2, 1, 3]) : [2, 7, 3, 4] float32\n"
          "  %9 = transpose(%2, perm=[0, 2, 1, 3]) : [2, 1, 3, 4] float32\n"
          "  %10 = transpose(%1, perm=[0, 2, 1, 3]) : [2, 7, 3, 4] float32\n"
          "  %11 = transpose(%2, perm=[0, 2, 1, 3]) : [2, 1, 3, 4] float32\n"
          "  %7 = attention_cached(%0, %8, %9, %10, %11, None, scale=1.0) : "
          "[2, 1, 3, 4] float32\n");
}

}  // namespace
}  // namespace proa::inline v0::jit
