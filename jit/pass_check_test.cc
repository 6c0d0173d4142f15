#include "jit/pass_check.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/text.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

std::shared_ptr<Program> Parse(const std::string& body) {
  auto parsed = ParseText("program {\n" + body + "}\n", {});
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *std::move(parsed);
}

const std::vector<ValueId> kOutputs = {2};

constexpr char kInputs[] =
    "  %0 = input \"x\" : [?, 3] float32\n"
    "  %1 = input \"n\" : [?] int64\n";

std::string WithInputs(const std::string& rest) { return kInputs + rest; }

// What comparing a program with another one says.
std::string Compared(const std::string& before, const std::string& after) {
  const PassCheck check(*Parse(WithInputs(before)), kOutputs);
  EXPECT_TRUE(check.compares());
  try {
    check.Compare(*Parse(WithInputs(after)), "tried");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(PassCheck, TellsWhatDiffers) {
  const std::string sum = "  %2 = add(%0, %0) : [?, 3] float32\n";
  EXPECT_EQ(Compared(sum, sum), "");
  EXPECT_EQ(Compared(sum,
                     "  %2 = scale(%0, scale=2.0, bias=0.0, "
                     "bias_after_scale=true) : [?, 3] float32\n"),
            "");
  const std::string wrong =
      Compared(sum, "  %2 = multiply(%0, %0) : [?, 3] float32\n");
  EXPECT_NE(wrong.find("pass tried changes results: output %2 element 0 was"),
            std::string::npos)
      << wrong;
  const std::string shape = Compared(
      sum, "  %2 = sum(%0, axis=[], dtype=None, keepdim=false) : [] float32\n");
  EXPECT_NE(shape.find("was [2, 3] float32 and is [] float32"),
            std::string::npos)
      << shape;
}

TEST(PassCheck, LeavesWhatCannotBeTold) {
  for (const std::string& body : std::vector<std::string>{
           // Draws random numbers; refuses arguments that are made up.
           "  %2 = bernoulli(%0, seed=0) : [?, 3] float32\n",
           "  %2 = reshape(%1, shape=[5]) : [5] int64\n"}) {
    EXPECT_FALSE(PassCheck(*Parse(WithInputs(body)), kOutputs).compares())
        << body;
  }
}

}  // namespace
}  // namespace proa::inline v0::jit
