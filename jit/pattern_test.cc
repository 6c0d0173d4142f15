// What the text of a pattern may be; passes_test.cc has patterns at work.
#include "jit/pattern.h"

#include <string>

#include "gtest/gtest.h"
#include "jit/text.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

TEST(Pattern, Parses) {
  const auto p = ParsePattern(
      "%a, _ = dropout(%x, p=?p, training=true) %y = ~add(%a, %x)");
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[0].results[1], "_");
  EXPECT_EQ(p[0].args[1].kind, PatternArgument::kAttribute);
  EXPECT_EQ(p[0].args[2].text, "true");
  EXPECT_EQ(p[0].args[3].kind, PatternArgument::kDefault);
  EXPECT_TRUE(p[1].commutes);
}

TEST(Pattern, NumbersListsAndRanks) {
  const auto p = ParsePattern(
      "%m = mean(%x{2}, axis=[-1], keepdim=true) %y = multiply(%m, #0.5) "
      "%z = hardsigmoid(%y, slope=#0.2) %w = add(%z, #?e)");
  ASSERT_EQ(p.size(), 4u);
  EXPECT_EQ(p[0].args[0].rank, 2);
  EXPECT_EQ(p[0].args[1].kind, PatternArgument::kLiteral);
  EXPECT_EQ(p[0].args[1].text, "[-1]");
  EXPECT_EQ(p[1].args[1].kind, PatternArgument::kNumber);
  EXPECT_EQ(p[2].args[1].kind, PatternArgument::kNumber);
  EXPECT_EQ(p[2].args[1].text, "0.2");
  EXPECT_EQ(p[3].args[1].kind, PatternArgument::kAnyNumber);
}

TEST(Pattern, NamesItsMistakes) {
  for (const auto& [text, says] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "is empty"},
           {"%y = explode(%x)", "no op is named explode"},
           {"%y, %z = relu(%x)", "the results are not those of"},
           {"%y = relu(%x, slope=1)", "there is no parameter slope"},
           {"%y = full(%x)", "no tensor stands here"},
           {"%y relu(%x)", "expected ="},
           {"%y = mean(%x, axis=[-1", "expected ]"},
           {"%y = relu(%x{1)", "expected }"},
           {"%y = full(#1)", "no tensor stands here"},
           {"%y = relu(%x", "expected )"}}) {
    try {
      ParsePattern(text);
      FAIL() << text;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(says), std::string::npos)
          << e.what();
    }
  }
}

std::string After(const Rule& rule, const std::string& body, ValueId output) {
  const auto parsed = ParseText("program {\n" + body + "}\n", {});
  if (!parsed.ok()) return std::string(parsed.status().message());
  const ValueId outputs[] = {output};
  Rewriter r(*parsed, outputs);
  ApplyRules(r, std::span(&rule, 1));
  r.Commit();
  const std::string text = ToText(**parsed);
  return text.substr(10, text.size() - 12);
}

constexpr char kInput[] =
    "  %0 = input \"x\" : [2, 2] float32\n"
    "  %1 = input \"y\" : [2, 2] float32\n";

TEST(Rule, OperandsInEitherOrderAndTheSameTwice) {
  const Rule rule("%a = exp(%x) %y = ~add(%a, %x)", "%y = sin(%x)");
  const std::string exp = "  %2 = exp(%0) : [2, 2] float32\n";
  const std::string sin =
      kInput + std::string("  %3 = sin(%0) : [2, 2] float32\n");
  for (const char* args : {"%2, %0", "%0, %2"}) {
    EXPECT_EQ(
        After(rule,
              kInput + exp + "  %3 = add(" + args + ") : [2, 2] float32\n", 3),
        sin);
  }
  const std::string other =
      kInput + exp + "  %3 = add(%2, %1) : [2, 2] float32\n";
  EXPECT_EQ(After(rule, other, 3), other);
}

// %r may stand for %a too, which the replacement no longer makes.
TEST(Rule, NothingReadsWhatIsErased) {
  const Rule rule("%a = exp(%x) %y = add(%a, %r)", "%y = subtract(%x, %r)");
  const std::string exp =
      kInput + std::string("  %2 = exp(%0) : [2, 2] float32\n");
  const std::string itself = exp + "  %3 = add(%2, %2) : [2, 2] float32\n";
  EXPECT_EQ(After(rule, itself, 3), itself);
  const Rule value("%a = exp(%x) %y = add(%a, %r)", "%y = %r");
  EXPECT_EQ(After(value, itself, 3), itself);
  EXPECT_EQ(After(rule, exp + "  %3 = add(%2, %1) : [2, 2] float32\n", 3),
            kInput + std::string("  %3 = subtract(%0, %1) : [2, 2] float32\n"));
  // Here the replacement makes it again.
  const Rule again("%a = exp(%x) %y = add(%a, %r)",
                   "%a = sin(%x) %y = subtract(%a, %r)");
  EXPECT_EQ(After(again, itself, 3),
            kInput + std::string("  %2 = sin(%0) : [2, 2] float32\n"
                                 "  %3 = subtract(%2, %2) : [2, 2] float32\n"));
}

TEST(Rule, AttributesAgreeOrAreThose) {
  const Rule rule("%a = matmul(%x, %y, transpose_x=?t) %z = relu(%a)",
                  "%b = exp(%x) %z = matmul(%b, %y, transpose_x=?t)");
  const auto program = [](const char* x, const char* y) {
    return kInput + std::string("  %2 = matmul(%0, %1, transpose_x=") + x +
           ", transpose_y=" + y +
           ") : [2, 2] float32\n"
           "  %3 = relu(%2) : [2, 2] float32\n";
  };
  EXPECT_EQ(After(rule, program("true", "false"), 3),
            kInput + std::string("  %4 = exp(%0) : [2, 2] float32\n"
                                 "  %3 = matmul(%4, %1, transpose_x=true, "
                                 "transpose_y=false) : [2, 2] float32\n"));
  EXPECT_EQ(After(rule, program("true", "true"), 3), program("true", "true"));
}

// What would have another dtype or size is not put in.
TEST(Rule, KeepsMetas) {
  const Rule sizes("%y = matmul(%a, %b)", "%y = sum(%a, keepdim=false)");
  const std::string body =
      kInput + std::string(
                   "  %2 = matmul(%0, %1, transpose_x=false, "
                   "transpose_y=false) : [2, 2] float32\n");
  EXPECT_EQ(After(sizes, body, 2), body);
}

}  // namespace
}  // namespace proa::inline v0::jit
