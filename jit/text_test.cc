#include "jit/text.h"

#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "jit/program_for_test.h"

namespace proa::inline v0::jit {
namespace {

TEST(Text, ParsesBackAndNamesTheLineOfAMistake) {
  const std::string text =
      "program {\n"
      "  %0 = input \"x\" : [?, 3] float32\n"
      "  %1 = exp(%0) : [?, 3] float32\n"
      "}\n";
  const auto program = ParseText(text, {});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(ToText(**program), text);

  for (const auto& [from, to, says] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"exp(%0)", "exp(%7)", "line 3: %7 is not made yet"},
           {"exp(%0)", "explode(%0)", "line 3: no op is named 'explode'"},
           {"float32\n}", "float33\n}", "'float33' is no dtype"},
           {"%1 =", "%0 =", "made twice"},
           {"exp(%0)", "exp(%0", "expected ')'"}}) {
    std::string bad = text;
    bad.replace(bad.find(from), from.size(), to);
    const auto refused = ParseText(bad, {});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(std::string(refused.status().message()).find(says),
              std::string::npos)
        << refused.status();
  }
}

TEST(Text, RegionsComeBack) {
  const auto program = Parse(kNested);
  EXPECT_EQ(ToText(*program), "program {\n" + std::string(kNested) + "}\n");
  const Operation& cond = program->block().operations[1];
  EXPECT_EQ(OperationText(*program, cond), "(%5) = cond(%0) : [4] float32");
  EXPECT_EQ(CallText(cond), "cond(%0)");
  EXPECT_EQ(CallText(cond.regions[0]->operations[0]), "add(%2, %2)");
}

}  // namespace
}  // namespace proa::inline v0::jit
