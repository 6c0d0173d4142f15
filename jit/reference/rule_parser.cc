#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/reference/rule.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {
namespace {

using Kind = Expression::Kind;

constexpr int kDeepest = 100;

struct Token {
  enum class Kind { kEnd, kName, kNumber, kText, kSign } kind = Kind::kEnd;
  std::string text;
};

std::vector<Token> Tokens(std::string_view line, const std::string& where) {
  std::vector<Token> out;
  size_t i = 0;
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  while (i < line.size()) {
    const char c = line[i];
    const size_t start = i;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (c == '#') {
      i = line.find('\n', i);
      if (i == line.npos) break;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (i < line.size() &&
             (is_name(line[i]) || line[i] == '.' ||
              ((line[i] == '-' || line[i] == '+') && line[i - 1] == 'e'))) {
        ++i;
      }
      out.push_back(
          {Token::Kind::kNumber, std::string(line.substr(start, i - start))});
    } else if (is_name(c)) {
      while (i < line.size() && is_name(line[i])) ++i;
      out.push_back(
          {Token::Kind::kName, std::string(line.substr(start, i - start))});
    } else if (c == '"' || c == '\'') {
      const size_t end = line.find(c, i + 1);
      PROA_REQUIRE(end != line.npos, where, ": a text does not end");
      out.push_back(
          {Token::Kind::kText, std::string(line.substr(i + 1, end - i - 1))});
      i = end + 1;
    } else {
      size_t n = 1;
      for (const char* two : {"->", "==", "!=", "<=", ">=", "//", "**"}) {
        if (line.substr(i, 2) == two) n = 2;
      }
      out.push_back({Token::Kind::kSign, std::string(line.substr(i, n))});
      i += n;
    }
  }
  out.push_back({});
  return out;
}

// Recursive descent; each function eats what it reads.
class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string where)
      : tokens_(std::move(tokens)), where_(std::move(where)) {}

  [[noreturn]] void Bad(const std::string& why) const {
    FailArgument(where_, ": ", why, " at '", tokens_[at_].text, "'");
  }
  bool Is(std::string_view text) const {
    return tokens_[at_].kind != Token::Kind::kText && tokens_[at_].text == text;
  }
  bool AtEnd() const { return tokens_[at_].kind == Token::Kind::kEnd; }
  bool Take(std::string_view text) {
    if (!Is(text)) return false;
    ++at_;
    return true;
  }
  void Expect(std::string_view text) {
    if (!Take(text)) Bad(absl::StrCat("expected '", std::string(text), "'"));
  }
  std::string Name() {
    if (tokens_[at_].kind != Token::Kind::kName) Bad("expected a name");
    return tokens_[at_++].text;
  }

  int64_t Version() {
    const Expression e = Number();
    if (e.kind != Kind::kInt) Bad("a version is an integer, not what stands");
    return e.integer;
  }

  RuleParameter Parameter() {
    RuleParameter p;
    const bool quoted = tokens_[at_].kind == Token::Kind::kText;
    p.name = quoted ? tokens_[at_++].text : Name();
    if (Take("?")) p.optional = true;
    if (Take("*")) p.list = true;
    if (Take("=")) {
      p.has_default = true;
      p.default_value = Expr();
    }
    return p;
  }

  // Up to `end`, which stays.
  std::vector<RuleParameter> Parameters(
      std::initializer_list<const char*> end) {
    std::vector<RuleParameter> out;
    const auto ends = [&] {
      for (const char* e : end) {
        if (Is(e)) return true;
      }
      return AtEnd();
    };
    while (!ends()) {
      out.push_back(Parameter());
      if (!Take(",")) break;
    }
    return out;
  }

  Statement Line() {
    Statement s;
    const size_t start = at_;
    // `a, b = ...`
    while (tokens_[at_].kind == Token::Kind::kName) {
      s.names.push_back(Name());
      if (Take("=")) {
        s.expression = Expr();
        return s;
      }
      if (!Take(",")) break;
    }
    at_ = start;
    s.names.clear();
    s.expression = Expr();
    return s;
  }

  Expression Expr() {
    if (++depth_ > kDeepest) Bad("too deep");
    Expression e = Or();
    if (Take("if")) {
      Expression condition = Or();
      Expect("else");
      Expression other = Expr();
      Expression choice;
      choice.kind = Kind::kChoice;
      choice.parts = {std::move(e), std::move(condition), std::move(other)};
      e = std::move(choice);
    }
    --depth_;
    return e;
  }

 private:
  static Expression Binary(std::string op, Expression a, Expression b) {
    Expression e;
    e.kind = Kind::kBinary;
    e.text = std::move(op);
    e.parts = {std::move(a), std::move(b)};
    return e;
  }
  template <typename Inner>
  Expression Chain(std::initializer_list<const char*> signs, Inner inner) {
    Expression e = inner();
    for (bool more = true; more;) {
      more = false;
      for (const char* sign : signs) {
        if (Take(sign)) {
          e = Binary(sign, std::move(e), inner());
          more = true;
          break;
        }
      }
    }
    return e;
  }
  Expression Or() {
    return Chain({"or"}, [&] { return And(); });
  }
  Expression And() {
    return Chain({"and"}, [&] { return Not(); });
  }
  Expression Unary(const char* op, Expression inner) {
    Expression e;
    e.kind = Kind::kUnary;
    e.text = op;
    e.parts = {std::move(inner)};
    return e;
  }
  Expression Not() {
    if (Take("not")) return Unary("not", Not());
    return Chain({"==", "!=", "<=", ">=", "<", ">", "in"},
                 [&] { return Sum(); });
  }
  Expression Sum() {
    return Chain({"+", "-"}, [&] { return Product(); });
  }
  Expression Product() {
    return Chain({"*", "//", "/", "%"}, [&] { return Negative(); });
  }
  Expression Negative() {
    if (Take("-")) return Unary("-", Negative());
    Expression e = Postfix();
    if (Take("**")) return Binary("**", std::move(e), Negative());
    return e;
  }
  Expression Postfix() {
    Expression e = Atom();
    while (Take("[")) {
      Expression index;
      index.parts.push_back(std::move(e));
      const auto part = [&] {
        return Is(":") || Is("]") ? Expression() : Expr();
      };
      index.parts.push_back(part());
      index.kind = Kind::kIndex;
      if (Take(":")) {
        index.kind = Kind::kSlice;
        index.parts.push_back(part());
      }
      Expect("]");
      e = std::move(index);
    }
    return e;
  }
  Expression Atom() {
    Expression e;
    const Token& t = tokens_[at_];
    switch (t.kind) {
      case Token::Kind::kText:
        e.kind = Kind::kText;
        e.text = t.text;
        ++at_;
        return e;
      case Token::Kind::kNumber:
        return Number();
      case Token::Kind::kName:
        return NameOrCall();
      default:
        break;
    }
    if (Take("(")) {
      e = Expr();
      Expect(")");
      return e;
    }
    if (Take("[")) return List();
    Bad("expected an expression");
  }
  Expression Number() {
    Expression e;
    const std::string& text = tokens_[at_++].text;
    const char* end = text.data() + text.size();
    e.kind = Kind::kInt;
    if (std::from_chars(text.data(), end, e.integer).ptr == end) return e;
    e.kind = Kind::kFloat;
    if (std::from_chars(text.data(), end, e.number).ptr == end) return e;
    --at_;
    Bad("this is no number");
  }
  Expression NameOrCall() {
    Expression e;
    e.text = Name();
    e.kind = Kind::kName;
    if (e.text == "none") {
      e.kind = Kind::kNone;
    } else if (e.text == "true" || e.text == "false") {
      e.kind = Kind::kBool;
      e.integer = e.text == "true";
    } else if (Take("(")) {
      e.kind = Kind::kCall;
      while (!Is(")")) {
        std::string keyword;
        if (tokens_[at_].kind == Token::Kind::kName &&
            tokens_[at_ + 1].kind == Token::Kind::kSign &&
            tokens_[at_ + 1].text == "=") {
          keyword = Name();
          Expect("=");
        }
        e.names.push_back(std::move(keyword));
        e.parts.push_back(Expr());
        if (!Take(",")) break;
      }
      Expect(")");
    }
    return e;
  }
  Expression List() {
    Expression e;
    e.kind = Kind::kList;
    if (Take("]")) return e;
    e.parts.push_back(Expr());
    if (Take("for")) {
      e.kind = Kind::kForEach;
      do {
        e.names.push_back(Name());
      } while (Take(","));
      Expect("in");
      e.parts.push_back(Or());
      if (Take("if")) e.parts.push_back(Or());
    } else {
      while (Take(",") && !Is("]")) e.parts.push_back(Expr());
    }
    Expect("]");
    return e;
  }

  std::vector<Token> tokens_;
  std::string where_;
  size_t at_ = 0;
  int depth_ = 0;
};

// A line with those that continue it: while a bracket is open.
struct Line {
  std::string text;
  bool indented;
  std::string where;
};

std::vector<Line> Lines(const RuleText& source) {
  std::vector<Line> out;
  int number = 0, open = 0;
  std::string_view rest = source.text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    text = text.substr(0, text.find('#'));
    const size_t first = text.find_first_not_of(" \t");
    if (first == text.npos) continue;
    if (open == 0) {
      out.push_back({"", first > 0, absl::StrCat(source.name, ":", number)});
    }
    absl::StrAppend(&out.back().text, std::string(text), " ");
    for (char c : text) {
      open += c == '(' || c == '[';
      open -= c == ')' || c == ']';
    }
  }
  return out;
}

}  // namespace

RuleBook ParseRules(std::span<const RuleText> texts) {
  RuleBook book;
  for (const RuleText& source : texts) {
    std::vector<Statement>* body = nullptr;
    std::vector<std::pair<std::vector<std::string>, std::shared_ptr<Rule>>> all;
    for (const Line& line : Lines(source)) {
      Parser p(Tokens(line.text, line.where), line.where);
      if (line.indented) {
        if (body == nullptr) p.Bad("this line belongs to no rule");
        body->push_back(p.Line());
        if (!p.AtEnd()) p.Bad("the line goes on");
        continue;
      }
      if (p.Take("def")) {
        const std::string name = p.Name();
        RuleFunction f;
        f.where = line.where;
        p.Expect("(");
        f.parameters = p.Parameters({")"});
        p.Expect(")");
        p.Expect(":");
        if (!p.AtEnd()) f.body.push_back(p.Line());
        const auto [at, is_new] = book.functions.emplace(name, std::move(f));
        if (!is_new) p.Bad(absl::StrCat("a second function '", name, "'"));
        body = &at->second.body;
      } else {
        std::vector<std::string> types;
        do {
          types.push_back(p.Name());
          if (p.Take("@")) book.versions[types.back()] = p.Version();
        } while (p.Take(","));
        const bool ignored = types.size() == 1 && types[0] == "ignored";
        const bool uneven = types.size() == 1 && types[0] == "uneven";
        if ((ignored || uneven) && p.Take(":")) {
          do {
            (ignored ? book.ignored : book.uneven).insert(p.Name());
          } while (p.Take(","));
          body = nullptr;
        } else {
          auto rule = std::make_shared<Rule>();
          rule->where = line.where;
          p.Expect("(");
          rule->inputs = p.Parameters({";", ")"});
          if (p.Take(";")) rule->attributes = p.Parameters({")"});
          p.Expect(")");
          p.Expect("->");
          rule->outputs = p.Parameters({":"});
          p.Expect(":");
          if (!p.AtEnd()) rule->body.push_back(p.Line());
          body = &rule->body;
          for (const std::string& type : types) {
            if (!book.rules.emplace(type, rule).second) {
              p.Bad(absl::StrCat("a second rule for '", type, "'"));
            }
          }
        }
      }
      if (!p.AtEnd()) p.Bad("the line goes on");
    }
  }
  return book;
}

}  // namespace proa::inline v0::jit::reference
