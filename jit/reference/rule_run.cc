#include "jit/reference/rule_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/control_flow.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {
namespace {

using Kind = Expression::Kind;

constexpr int kDeepest = 200;
constexpr int64_t kMostSteps = 2'000'000;
constexpr int64_t kLongest = 1 << 20;  // of a list

RuleValue CallNamed(const char* op, RuleList args) {
  const OpDefinition* found = FindOp(op);
  PROA_REQUIRE(found != nullptr, "there is no op '", op, "'");
  std::vector<NamedArgument> named;
  for (RuleValue& a : args) named.push_back({"", std::move(a)});
  return CallOp(*found, named);
}

bool Truth(const RuleValue& v) {
  if (v.is_none()) return false;
  if (v.is_number()) return v.number() != 0;
  if (const RuleList* l = v.As<RuleList>()) return !l->empty();
  if (const std::string* s = v.As<std::string>()) return !s->empty();
  FailArgument("no truth value: ", ToString(v));
}

bool Same(const RuleValue& a, const RuleValue& b) {
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.v.index() != b.v.index()) return false;
  if (const std::string* s = a.As<std::string>()) {
    return *s == *b.As<std::string>();
  }
  if (const DType* t = a.As<DType>()) return *t == *b.As<DType>();
  if (const RuleList* l = a.As<RuleList>()) {
    return std::ranges::equal(*l, *b.As<RuleList>(), Same);
  }
  return a.is_none();
}

// Both numbers; whole ones stay whole.
RuleValue Arithmetic(const std::string& op, const RuleValue& a,
                     const RuleValue& b) {
  const double x = a.number(), y = b.number();
  if (op == "<") return x < y;
  if (op == "<=") return x <= y;
  if (op == ">") return x > y;
  if (op == ">=") return x >= y;
  const bool whole = a.As<double>() == nullptr && b.As<double>() == nullptr;
  if ((op == "//" || op == "/" || op == "%") && y == 0) {
    FailArgument("division by zero");
  }
  if (op == "/") return x / y;
  if (!whole) {
    if (op == "+") return x + y;
    if (op == "-") return x - y;
    if (op == "*") return x * y;
    if (op == "//") return std::floor(x / y);
    if (op == "**") return std::pow(x, y);
    return x - std::floor(x / y) * y;
  }
  const int64_t i = a.integer(), j = b.integer();
  int64_t out = 0;
  bool over = false;
  if (op == "+") {
    over = __builtin_add_overflow(i, j, &out);
  } else if (op == "-") {
    over = __builtin_sub_overflow(i, j, &out);
  } else if (op == "*") {
    over = __builtin_mul_overflow(i, j, &out);
  } else if (op == "**") {
    return std::pow(x, y);
  } else {
    over = i == INT64_MIN && j == -1;
    if (!over) {
      out = i / j - ((i % j != 0) && ((i < 0) != (j < 0)));
      if (op == "%") out = i - out * j;
    }
  }
  PROA_REQUIRE(!over, "a number has more than 64 bits");
  return out;
}

const char* OpOfOperator(const std::string& op) {
  constexpr std::pair<const char*, const char*> kOps[] = {
      {"+", "add"},          {"-", "subtract"},       {"*", "multiply"},
      {"/", "divide"},       {"//", "floor_divide"},  {"%", "remainder"},
      {"**", "pow"},         {"<", "less_than"},      {"<=", "less_equal"},
      {">", "greater_than"}, {">=", "greater_equal"}, {"==", "equal"},
      {"!=", "not_equal"},   {"and", "logical_and"},  {"or", "logical_or"}};
  for (const auto& [sign, name] : kOps) {
    if (op == sign) return name;
  }
  FailArgument("there is no operator '", op, "'");
}

// What a region gives, and its form.
TensorList Flat(const RuleValue& v) {
  TensorList out;
  if (const RuleList* l = v.As<RuleList>()) {
    for (const RuleValue& e : *l) out.push_back(AsTensor(e, Tensor()));
  } else {
    out.push_back(AsTensor(v, Tensor()));
  }
  return out;
}

}  // namespace

RuleList RuleRun::Run(const Rule& rule, Names names) {
  RuleValue last;
  try {
    last = Body(rule.body, names);
  } catch (const Error& e) {
    e.ThrowWith(absl::StrCat("(by rule ", rule.where, ")"));
  }
  RuleList out(rule.outputs.size());
  bool named = false;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto at = names.find(rule.outputs[i].name);
    if (at == names.end()) continue;
    out[i] = at->second;
    named = true;
  }
  if (named || out.empty()) return out;
  const RuleList* list = last.As<RuleList>();
  if (list != nullptr && (out.size() > 1 || !rule.outputs[0].list)) {
    PROA_REQUIRE(list->size() <= out.size(), rule.where, ": gives ",
                 list->size(), " outputs, not ", out.size());
    std::ranges::copy(*list, out.begin());
  } else {
    out[0] = std::move(last);
  }
  return out;
}

RuleValue RuleRun::Body(const std::vector<Statement>& body, Names& names) {
  PROA_REQUIRE(++depth_ < kDeepest, "rules call each other without end");
  RuleValue last;
  for (const Statement& s : body) {
    last = Evaluate(s.expression, names);
    if (s.names.size() == 1) {
      names[s.names[0]] = last;
    } else if (s.names.size() > 1) {
      const RuleList* list = last.As<RuleList>();
      PROA_REQUIRE(list != nullptr && list->size() >= s.names.size(),
                   "there are not ", s.names.size(), " values");
      for (size_t i = 0; i < s.names.size(); ++i) {
        names[s.names[i]] = (*list)[i];
      }
    }
  }
  --depth_;
  return last;
}

RuleValue RuleRun::Evaluate(const Expression& e, Names& names) {
  PROA_REQUIRE(++steps_ < kMostSteps, "its attributes ask for too much");
  switch (e.kind) {
    case Kind::kNone:
      return {};
    case Kind::kBool:
      return e.integer != 0;
    case Kind::kInt:
      return e.integer;
    case Kind::kFloat:
      return e.number;
    case Kind::kText:
      return e.text;
    case Kind::kName: {
      const auto at = names.find(e.text);
      PROA_REQUIRE(at != names.end(), "unknown name '", e.text, "'");
      return at->second;
    }
    case Kind::kList: {
      RuleList out;
      for (const Expression& p : e.parts) out.push_back(Evaluate(p, names));
      return out;
    }
    case Kind::kCall: {
      std::vector<NamedArgument> args;
      for (size_t i = 0; i < e.parts.size(); ++i) {
        args.push_back({e.names[i], Evaluate(e.parts[i], names)});
      }
      return Call(e.text, args);
    }
    case Kind::kUnary: {
      const RuleValue v = Evaluate(e.parts[0], names);
      const bool tensor = v.As<Tensor>() != nullptr;
      if (e.text == "not") {
        return tensor ? CallNamed("logical_not", {v}) : RuleValue(!Truth(v));
      }
      if (tensor) return CallNamed("neg", {v});
      return Arithmetic("-", int64_t{0}, v);
    }
    case Kind::kBinary:
      return Binary(e, names);
    case Kind::kChoice:
      return Choice(e, names);
    case Kind::kIndex:
    case Kind::kSlice:
      return Part(e, names);
    case Kind::kForEach:
      return ForEach(e, names);
  }
  return {};
}

RuleValue RuleRun::Binary(const Expression& e, Names& names) {
  const RuleValue a = Evaluate(e.parts[0], names);
  if (a.As<Tensor>() == nullptr) {
    if (e.text == "and" && !Truth(a)) return a;
    if (e.text == "or" && Truth(a)) return a;
  }
  const RuleValue b = Evaluate(e.parts[1], names);
  if (a.As<Tensor>() == nullptr && (e.text == "and" || e.text == "or")) {
    return b;
  }
  if (e.text == "in") {
    const RuleList* list = b.As<RuleList>();
    PROA_REQUIRE(list != nullptr, "no list: ", ToString(b));
    return std::ranges::any_of(*list,
                               [&](const RuleValue& v) { return Same(a, v); });
  }
  const bool equality = e.text == "==" || e.text == "!=";
  if (equality && (a.is_none() || b.is_none())) {
    return (a.is_none() && b.is_none()) == (e.text == "==");
  }
  if (const Tensor* t = a.As<Tensor>()) {
    return CallNamed(OpOfOperator(e.text), {a, AsTensor(b, *t)});
  }
  if (const Tensor* t = b.As<Tensor>()) {
    return CallNamed(OpOfOperator(e.text), {AsTensor(a, *t), b});
  }
  if (equality) return Same(a, b) == (e.text == "==");
  if (e.text == "+" && a.As<RuleList>() && b.As<RuleList>()) {
    RuleList out = *a.As<RuleList>();
    for (const RuleValue& v : *b.As<RuleList>()) out.push_back(v);
    return out;
  }
  if (e.text == "*" && a.As<RuleList>() && b.As<int64_t>()) {
    RuleList out;
    const auto n = static_cast<int64_t>(a.As<RuleList>()->size());
    PROA_REQUIRE(*b.As<int64_t>() <= kLongest / std::max<int64_t>(n, 1),
                 "a list is too long");
    for (int64_t i = 0; i < *b.As<int64_t>(); ++i) {
      for (const RuleValue& v : *a.As<RuleList>()) out.push_back(v);
    }
    return out;
  }
  PROA_REQUIRE(a.is_number() && b.is_number(), "'", e.text,
               "' has no meaning for ", ToString(a), " and ", ToString(b));
  return Arithmetic(e.text, a, b);
}

RuleValue RuleRun::Choice(const Expression& e, Names& names) {
  const RuleValue condition = Evaluate(e.parts[1], names);
  const Tensor* predicate = condition.As<Tensor>();
  if (predicate == nullptr) {
    return Evaluate(e.parts[Truth(condition) ? 0 : 2], names);
  }
  bool list = false;
  const auto way = [&](int part) {
    return [&, part] {
      const RuleValue v = Evaluate(e.parts[part], names);
      list = v.As<RuleList>() != nullptr;
      return Flat(v);
    };
  };
  const TensorList found = Cond(*predicate, way(0), way(2));
  if (!list) return found[0];
  return RuleList(found.begin(), found.end());
}

RuleValue RuleRun::ForEach(const Expression& e, Names& names) {
  const RuleValue over = Evaluate(e.parts[1], names);
  const RuleList* list = over.As<RuleList>();
  PROA_REQUIRE(list != nullptr, "no list: ", ToString(over));
  Names inner = names;
  RuleList out;
  for (const RuleValue& v : *list) {
    if (e.names.size() == 1) {
      inner[e.names[0]] = v;
    } else {
      const RuleList* several = v.As<RuleList>();
      PROA_REQUIRE(several != nullptr && several->size() == e.names.size(),
                   "there are not ", e.names.size(), " values");
      for (size_t i = 0; i < e.names.size(); ++i) {
        inner[e.names[i]] = (*several)[i];
      }
    }
    if (e.parts.size() > 2 && !Truth(Evaluate(e.parts[2], inner))) continue;
    out.push_back(Evaluate(e.parts[0], inner));
  }
  return out;
}

RuleValue RuleRun::Part(const Expression& e, Names& names) {
  const RuleValue of = Evaluate(e.parts[0], names);
  const RuleList* list = of.As<RuleList>();
  PROA_REQUIRE(list != nullptr, "no list: ", ToString(of));
  const auto n = static_cast<int64_t>(list->size());
  const auto bound = [&](const Expression& part, int64_t otherwise) {
    const RuleValue v = Evaluate(part, names);
    if (v.is_none()) return otherwise;
    const int64_t i = v.integer();
    return i < 0 ? i + n : i;
  };
  if (e.kind == Kind::kIndex) {
    const int64_t i = bound(e.parts[1], n);
    PROA_REQUIRE(i >= 0 && i < n, "there is no element ", i, " of ",
                 ToString(of));
    return (*list)[i];
  }
  const int64_t from = std::clamp<int64_t>(bound(e.parts[1], 0), 0, n);
  const int64_t to = std::clamp<int64_t>(bound(e.parts[2], n), from, n);
  return RuleList(list->begin() + from, list->begin() + to);
}

RuleValue RuleRun::Call(const std::string& name,
                        const std::vector<NamedArgument>& args) {
  if (const auto at = book_.functions.find(name); at != book_.functions.end()) {
    return CallFunction(at->second, args);
  }
  if (const RuleBuiltin builtin = FindRuleBuiltin(name)) {
    return builtin(*this, args);
  }
  const OpDefinition* op = FindOp(name);
  PROA_REQUIRE(op != nullptr, "there is no op or function '", name, "'");
  return CallOp(*op, args);
}

RuleValue RuleRun::CallFunction(const RuleFunction& f,
                                const std::vector<NamedArgument>& args) {
  Names names;
  for (size_t i = 0; i < args.size(); ++i) {
    PROA_REQUIRE(!args[i].name.empty() || i < f.parameters.size(), f.where,
                 ": takes ", f.parameters.size(), " arguments");
    names[args[i].name.empty() ? f.parameters[i].name : args[i].name] =
        args[i].value;
  }
  for (const RuleParameter& p : f.parameters) {
    if (names.contains(p.name)) continue;
    PROA_REQUIRE(p.has_default, f.where, ": ", p.name, " is missing");
    Names none;
    names[p.name] = Evaluate(p.default_value, none);
  }
  return Body(f.body, names);
}

}  // namespace proa::inline v0::jit::reference
