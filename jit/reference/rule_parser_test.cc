#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "jit/reference/rule.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {
namespace {

using Kind = Expression::Kind;

RuleBook Parsed(std::string_view text) {
  const RuleText t{"some.rules", text};
  return ParseRules({&t, 1});
}

std::string ErrorOf(std::string_view text) {
  try {
    Parsed(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// The expression with a bracket around each part: "(+ a (* b 2))".
std::string Tree(const Expression& e) {
  std::string head;
  switch (e.kind) {
    case Kind::kNone:
      return "none";
    case Kind::kBool:
      return e.integer != 0 ? "true" : "false";
    case Kind::kInt:
      return std::to_string(e.integer);
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return "'" + e.text + "'";
    case Kind::kName:
      return e.text;
    case Kind::kList:
      head = "list";
      break;
    case Kind::kChoice:
      head = "if";
      break;
    case Kind::kIndex:
      head = "at";
      break;
    case Kind::kSlice:
      head = "slice";
      break;
    case Kind::kForEach:
      head = "each";
      break;
    default:
      head = e.text;
  }
  std::string out = "(" + head;
  for (size_t i = 0; i < e.parts.size(); ++i) {
    const bool keyword = e.kind == Kind::kCall && !e.names[i].empty();
    out += " " + (keyword ? e.names[i] + "=" : "") + Tree(e.parts[i]);
  }
  return out + ")";
}

std::string TreeOf(const std::string& expression) {
  const RuleBook book = Parsed("t(X) -> Out: " + expression + "\n");
  return Tree(book.rules.at("t")->body[0].expression);
}

TEST(RuleParserTest, SignsBindAsInPython) {
  EXPECT_EQ(TreeOf("a + b * 2"), "(+ a (* b 2))");
  EXPECT_EQ(TreeOf("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(TreeOf("-a ** 2"), "(- (** a 2))");
  EXPECT_EQ(TreeOf("2 ** -a"), "(** 2 (- a))");
  EXPECT_EQ(TreeOf("2 ** 3 ** 2"), "(** 2 (** 3 2))");
  EXPECT_EQ(TreeOf("not a == b and c or d"), "(or (and (not (== a b)) c) d)");
  EXPECT_EQ(TreeOf("a if b else c if d else e"), "(if a b (if c d e))");
  EXPECT_EQ(TreeOf("(a + b) // c % 2"), "(% (// (+ a b) c) 2)");
}

TEST(RuleParserTest, CallsListsAndParts) {
  EXPECT_EQ(TreeOf("f(x, axis=-1, name='a b')"), "(f x axis=(- 1) name='a b')");
  EXPECT_EQ(TreeOf("[1, 2.5, true, none]"), "(list 1 float true none)");
  EXPECT_EQ(TreeOf("[]"), "(list)");
  EXPECT_EQ(TreeOf("x[0][1:]"), "(slice (at x 0) 1 none)");
  EXPECT_EQ(TreeOf("x[:n]"), "(slice x none n)");
  EXPECT_EQ(TreeOf("[f(i) for i in x if i > 0]"), "(each (f i) x (> i 0))");
}

TEST(RuleParserTest, HeadsSayWhatMayBeMissing) {
  const RuleBook book = Parsed(
      "# Two types with one rule.\n"
      "reshape, reshape2(X, Shape?, Parts*; shape=[], axis=-1) -> Out, Old?:\n"
      "  sizes = given(Shape,\n"
      "                shape)\n"
      "  again(X, sizes)\n");
  const Rule& rule = *book.rules.at("reshape2");
  EXPECT_EQ(book.rules.at("reshape"), book.rules.at("reshape2"));
  EXPECT_EQ(rule.where, "some.rules:2");
  ASSERT_EQ(rule.inputs.size(), 3u);
  EXPECT_FALSE(rule.inputs[0].optional);
  EXPECT_TRUE(rule.inputs[1].optional);
  EXPECT_TRUE(rule.inputs[2].list);
  ASSERT_EQ(rule.attributes.size(), 2u);
  EXPECT_EQ(Tree(rule.attributes[1].default_value), "(- 1)");
  EXPECT_TRUE(rule.outputs[1].optional);
  ASSERT_EQ(rule.body.size(), 2u);
  EXPECT_EQ(rule.body[0].names[0], "sizes");
  EXPECT_EQ(Tree(rule.body[1].expression), "(again X sizes)");
}

TEST(RuleParserTest, HeadsSayVersions) {
  const RuleBook book = Parsed("a@2, b, c@1(X) -> Out: relu(X)");
  const std::map<std::string, int64_t> expected = {{"a", 2}, {"c", 1}};
  EXPECT_EQ(book.versions, expected);
  EXPECT_EQ(book.rules.size(), 3u);
  EXPECT_NE(ErrorOf("a@1.5(X) -> Out: relu(X)"), "");
}

TEST(RuleParserTest, Errors) {
  EXPECT_EQ(ErrorOf("relu(X) -> Out: same(X)\n"), "");
  EXPECT_EQ(ErrorOf("\nrelu(X) -> Out: same(X\n"),
            "some.rules:2: expected ')' at ''");
  EXPECT_EQ(ErrorOf("a(X) -> Out: X\na(X) -> Out: X\n"),
            "some.rules:2: a second rule for 'a' at ''");
  EXPECT_EQ(ErrorOf("  X\n"),
            "some.rules:1: this line belongs to no rule at 'X'");
  EXPECT_EQ(ErrorOf("a(X) -> Out: 'open\n"),
            "some.rules:1: a text does not end");
  const std::string deep(200, '(');
  EXPECT_NE(ErrorOf("a(X) -> Out: " + deep + "X\n").find("too deep"),
            std::string::npos);
}

}  // namespace
}  // namespace proa::inline v0::jit::reference
