// ParsePattern: recursive descent over the text of a pattern.
#include <algorithm>
#include <cctype>

#include "jit/pattern.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  std::vector<PatternOperation> Parse() {
    std::vector<PatternOperation> out;
    while (Peek() != '\0') out.push_back(ParseOperation());
    if (out.empty()) Fail("is empty");
    return out;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    FailArgument("pattern '", std::string(text_), "': ", what, ", at '",
                 std::string(text_.substr(std::min(at_, text_.size()), 20)),
                 "'");
  }

  char Peek() {
    while (at_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Fail(std::string("expected ") + c);
  }
  std::string Word() {
    const bool list = Peek() == '[';
    const size_t start = at_;
    if (list) {
      at_ = text_.find(']', at_);
      if (at_ == std::string_view::npos) Fail("expected ]");
      ++at_;
      return std::string(text_.substr(start, at_ - start));
    }
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
             c == '.' || c == '-' || c == '"';
    };
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == start) Fail("expected a word");
    return std::string(text_.substr(start, at_ - start));
  }

  PatternOperation ParseOperation() {
    PatternOperation out;
    while (true) {
      if (Take('%')) {
        out.results.push_back(Word());
      } else if (Word() == "_") {
        out.results.push_back("_");
      } else {
        Fail("expected a result");
      }
      if (!Take(',')) break;
    }
    Expect('=');
    if (Take('%')) {
      out.args = {{PatternArgument::kValue, Word()}};
      return out;
    }
    out.commutes = Take('~');
    const std::string name = Word();
    out.op = FindOp(name);
    if (out.op == nullptr) Fail("no op is named " + name);
    if (out.results.size() != out.op->outputs.size()) {
      Fail(std::string("the results are not those of ") + out.op->signature);
    }
    out.args.resize(out.op->params.size());
    Expect('(');
    if (!Take(')')) {
      size_t position = 0;
      do {
        ParseArgument(out, position++);
      } while (Take(','));
      Expect(')');
    }
    return out;
  }

  void ParseArgument(PatternOperation& o, size_t position) {
    const auto params = o.op->params;
    if (Take('%')) {
      if (position >= params.size() ||
          params[position].type != ParamType::kTensor) {
        Fail("no tensor stands here");
      }
      o.args[position] = {PatternArgument::kValue, Word()};
      if (Take('{')) {
        o.args[position].rank = std::stoi(Word());
        Expect('}');
      }
      return;
    }
    if (Take('#')) {
      if (position >= params.size() ||
          params[position].type != ParamType::kTensor) {
        Fail("no tensor stands here");
      }
      const bool any = Take('?');
      o.args[position] = {
          any ? PatternArgument::kAnyNumber : PatternArgument::kNumber, Word()};
      return;
    }
    const std::string word = Word();
    if (word == "None") {
      if (position >= params.size()) Fail("no tensor stands here");
      o.args[position] = {PatternArgument::kNone, ""};
      return;
    }
    const auto at = std::ranges::find(params, word, &ParamInfo::name);
    if (at == params.end()) Fail(std::string("there is no parameter ") + word);
    Expect('=');
    if (Take('#')) {
      o.args[at - params.begin()] = {PatternArgument::kNumber, Word()};
      return;
    }
    const bool variable = Take('?');
    o.args[at - params.begin()] = {
        variable ? PatternArgument::kAttribute : PatternArgument::kLiteral,
        Word()};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<PatternOperation> ParsePattern(std::string_view text) {
  return PatternParser(text).Parse();
}

}  // namespace proa::inline v0::jit
