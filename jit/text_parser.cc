// ParseText: recursive descent over the text of a program.
#include <cstdlib>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/region_op.h"
#include "jit/text.h"
#include "jit/verify.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

// Thrown inside of the parser only; ParseText turns it into a Status.
struct SyntaxError {
  std::string message;
};

class TextParser {
 public:
  TextParser(std::string_view text, std::span<const Tensor> captured)
      : text_(text), captured_(captured) {}

  std::shared_ptr<Program> Parse() {
    Word("program");
    Symbol('{');
    ParseBlock(program_->block(), /*region=*/false);
    SkipSpace();
    if (at_ != text_.size()) Fail("text after the program");
    return program_;
  }

  const absl::flat_hash_map<int64_t, ValueId>& numbers() const { return ids_; }
  int line() const {
    int n = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) n += text_[i] == '\n';
    return n;
  }

 private:
  // Lexing --------------------------------------------------------------------

  [[noreturn]] void Fail(const std::string& what) { throw SyntaxError{what}; }

  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) !=
                                     std::string_view::npos) {
      ++at_;
    }
  }
  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Symbol(char c) {
    if (!Take(c)) Fail(absl::StrCat("expected '", std::string(1, c), "'"));
  }
  static bool IsWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '.' || c == '-' || c == '+';
  }
  std::string Token() {
    SkipSpace();
    const size_t start = at_;
    while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
    if (at_ == start) Fail("expected a word or a number");
    return std::string(text_.substr(start, at_ - start));
  }
  void Word(std::string_view word) {
    if (Token() != word)
      Fail(absl::StrCat("expected '", std::string(word), "'"));
  }
  bool TakeWord(std::string_view word) {
    const size_t start = at_;
    if (IsWord(Peek()) && Token() == word) return true;
    at_ = start;
    return false;
  }
  int64_t Int() {
    int64_t v;
    const std::string token = Token();
    if (!absl::SimpleAtoi(token, &v)) {
      Fail(absl::StrCat("'", token, "' is no int64"));
    }
    return v;
  }
  double Float() {
    const std::string token = Token();
    char* end;
    const double v = std::strtod(token.c_str(), &end);
    if (*end != '\0') Fail(absl::StrCat("'", token, "' is no number"));
    return v;
  }
  std::string String() {
    Symbol('"');
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size()) Fail("a string has no end");
    std::string out;
    if (!absl::CUnescape(absl::string_view(text_.data() + start, at_ - start),
                         &out)) {
      Fail("a string has a bad escape");
    }
    ++at_;
    return out;
  }
  template <typename F>
  void List(char open, char close, const F& item) {
    Symbol(open);
    if (Take(close)) return;
    do {
      item();
    } while (Take(','));
    Symbol(close);
  }

  // Values
  // ----------------------------------------------------------------------

  // `%7` of the text; numbers of the text need not be dense.
  int64_t Number() {
    Symbol('%');
    return Int();
  }
  ValueRef Use() {
    if (TakeWord("None")) return {};
    const int64_t n = Number();
    auto it = ids_.find(n);
    if (it == ids_.end()) Fail(absl::StrCat("%", n, " is not made yet"));
    return {it->second};
  }
  ValueId Define(int64_t n, ValueInfo info) {
    const ValueId id = program_->AddValue(std::move(info));
    if (!ids_.emplace(n, id).second)
      Fail(absl::StrCat("%", n, " is made twice"));
    return id;
  }
  DType ParseType() {
    const std::string name = Token();
    const std::optional<DType> t = ParseDType(name);
    if (!t.has_value()) Fail(absl::StrCat("'", name, "' is no dtype"));
    return *t;
  }
  TensorMeta Meta() {
    TensorMeta meta;
    List('[', ']',
         [&] { meta.shape.push_back(Take('?') ? kUnknownDim : Int()); });
    meta.dtype = ParseType();
    if (Take('@')) {
      std::string place = Token();
      if (Take(':')) absl::StrAppend(&place, ":", Int());
      meta.place = ParsePlace(place);
    }
    return meta;
  }

  // Attributes
  // --------------------------------------------------------------------

  Value ScalarLiteral() {
    if (TakeWord("true")) return Scalar(true);
    if (TakeWord("false")) return Scalar(false);
    if (TakeWord("complex")) {
      Symbol('(');
      const double re = Float();
      Symbol(',');
      const double im = Float();
      Symbol(')');
      return Scalar(complex128(re, im));
    }
    const size_t start = at_;
    const std::string token = Token();
    at_ = start;
    if (token.find_first_of(".enf") != std::string::npos)
      return Scalar(Float());
    return Scalar(Int());
  }

  Value Literal(ParamType type) {
    if (TakeWord("None")) return Value();
    switch (type) {
      case ParamType::kBool:
        if (TakeWord("true")) return true;
        Word("false");
        return false;
      case ParamType::kInt:
        return Int();
      case ParamType::kFloat:
        return Float();
      case ParamType::kString:
        return String();
      case ParamType::kIntList:
      case ParamType::kIntArray: {
        std::vector<int64_t> v;
        List('[', ']', [&] { v.push_back(Int()); });
        return v;
      }
      case ParamType::kFloatList: {
        std::vector<double> v;
        List('[', ']', [&] { v.push_back(Float()); });
        return v;
      }
      case ParamType::kScalar:
        return ScalarLiteral();
      case ParamType::kDType:
        return ParseType();
      case ParamType::kPlace:
        return ParsePlace(String());
      default:
        Fail("expected a tensor");
    }
  }

  Argument ParseArgument(const ParamInfo& p) {
    if (p.type == ParamType::kTensor) return Use();
    if (p.type == ParamType::kTensorList) {
      std::vector<ValueRef> refs;
      List('[', ']', [&] { refs.push_back(Use()); });
      return refs;
    }
    Word(p.name);
    Symbol('=');
    if (Peek() == '%') return Use();
    return Literal(p.type);
  }

  // Statements
  // --------------------------------------------------------------------

  void ParseBlock(Block& block, bool region) {
    while (!Take('}')) {
      if (region && TakeWord("return")) {
        if (Peek() != '}') {
          do {
            block.returns.push_back(Use().id);
          } while (Take(','));
        }
        continue;
      }
      ParseStatement(block);
    }
  }

  struct Target {
    std::vector<std::vector<int64_t>> groups;
  };

  Target Targets() {
    Target target;
    if (Peek() != '%' && Peek() != '(') return target;
    do {
      target.groups.emplace_back();
      if (Peek() == '(') {
        List('(', ')', [&] { target.groups.back().push_back(Number()); });
      } else {
        target.groups.back().push_back(Number());
      }
    } while (Take(','));
    Symbol('=');
    return target;
  }

  void ParseStatement(Block& block) {
    const Target target = Targets();
    const std::string name = Token();
    if (name == "input" || name == "captured") return Outer(target, name);
    if (name == "argument") {
      Symbol(':');
      block.arguments.push_back(
          Define(Single(target),
                 ValueInfo{ValueKind::kRegionArgument, Meta(), "", {}}));
      return;
    }
    Operation o;
    ParseCall(name, o);
    DefineResults(target, o);
    block.operations.push_back(std::move(o));
  }

  int64_t Single(const Target& target) {
    if (target.groups.size() != 1 || target.groups[0].size() != 1) {
      Fail("one value is made here");
    }
    return target.groups[0][0];
  }

  void Outer(const Target& target, const std::string& kind) {
    ValueInfo info;
    info.name = String();
    Symbol(':');
    info.meta = Meta();
    info.kind = ValueKind::kInput;
    if (kind == "captured") {
      info.kind = ValueKind::kCaptured;
      if (next_captured_ >= captured_.size()) {
        Fail(absl::StrCat("no tensor is given for '", info.name, "'"));
      }
      info.captured = captured_[next_captured_++];
      if (!(info.captured.shape() == info.meta.shape) ||
          info.captured.dtype() != info.meta.dtype) {
        Fail(absl::StrCat("'", info.name, "' is ", ToString(info.meta.shape),
                          "; the tensor given is ", Describe(info.captured)));
      }
    }
    Define(Single(target), std::move(info));
  }

  void ParseCall(const std::string& name, Operation& o) {
    o.op = FindOp(name);
    if (o.op == nullptr) Fail(absl::StrCat("no op is named '", name, "'"));
    Symbol('(');
    for (size_t i = 0; i < o.op->params.size(); ++i) {
      if (i > 0) Symbol(',');
      o.args.push_back(ParseArgument(o.op->params[i]));
    }
    Symbol(')');
    if (o.op->regions != nullptr) ParseRegions(o);
  }

  void ParseRegions(Operation& o) {
    if (++depth_ > kMaxRegionDepth) Fail("regions are nested too deeply");
    for (size_t i = 0; i < o.op->regions->regions.size(); ++i) {
      Symbol('{');
      o.regions.push_back(std::make_unique<Block>());
      ParseBlock(*o.regions.back(), /*region=*/true);
    }
    --depth_;
  }

  void DefineResults(const Target& target, Operation& o) {
    bool first = true;
    for (const auto& group : target.groups) {
      o.results.emplace_back();
      for (int64_t n : group) {
        Symbol(first ? ':' : ',');
        first = false;
        o.results.back().push_back(
            Define(n, ValueInfo{ValueKind::kResult, Meta(), "", {}}));
      }
    }
  }

  std::string_view text_;
  std::span<const Tensor> captured_;
  size_t at_ = 0;
  size_t next_captured_ = 0;
  int depth_ = 0;
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  absl::flat_hash_map<int64_t, ValueId> ids_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Program>> ParseText(
    std::string_view text, std::span<const Tensor> captured,
    absl::flat_hash_map<int64_t, ValueId>* numbers) {
  TextParser parser(text, captured);
  std::shared_ptr<Program> program;
  try {
    program = parser.Parse();
  } catch (const SyntaxError& e) {
    return absl::InvalidArgumentError(
        absl::StrCat("program text, line ", parser.line(), ": ", e.message));
  } catch (const Error& e) {
    return absl::InvalidArgumentError(
        absl::StrCat("program text, line ", parser.line(), ": ", e.what()));
  }
  if (absl::Status s = Verify(*program); !s.ok()) return s;
  if (numbers != nullptr) *numbers = parser.numbers();
  return program;
}

}  // namespace proa::inline v0::jit
