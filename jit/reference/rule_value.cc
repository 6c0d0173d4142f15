#include "jit/reference/rule_value.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/reference/program_desc.h"
#include "ops/boxed_call.h"
#include "tensor/error.h"

namespace proa::inline v0::jit::reference {
namespace {

const OpDefinition& Op(const char* name) {
  const OpDefinition* op = FindOp(name);
  PROA_REQUIRE(op != nullptr, "op '", name, "' is not part of this build");
  return *op;
}

const char* KindName(const RuleValue& v) {
  constexpr const char* kNames[] = {"none", "bool",  "integer", "number",
                                    "text", "dtype", "tensor",  "list"};
  return kNames[v.v.index()];
}

class Converter {
 public:
  Converter(const OpDefinition& op, const ParamInfo& p, const Tensor& like)
      : op_(op), p_(p), like_(like) {}

  Value operator()(const RuleValue& v) const {
    if (v.is_none()) {
      if (p_.type == ParamType::kIntList) return std::vector<int64_t>();
      if (p_.type == ParamType::kFloatList) return std::vector<double>();
      return Value();
    }
    const Tensor* t = v.As<Tensor>();
    if (t != nullptr && MayBeLate(p_)) return *t;
    switch (p_.type) {
      case ParamType::kTensor:
        return AsTensor(v, like_);
      case ParamType::kTensorList: {
        std::vector<Tensor> out;
        for (const RuleValue& e : List(v)) out.push_back(AsTensor(e, like_));
        return out;
      }
      case ParamType::kBool:
        if (!v.is_number()) Wrong(v);
        return v.number() != 0;
      case ParamType::kInt:
        return v.integer();
      case ParamType::kFloat:
        if (!v.is_number()) Wrong(v);
        return v.number();
      case ParamType::kString:
        if (v.As<std::string>() == nullptr) Wrong(v);
        return *v.As<std::string>();
      case ParamType::kIntList:
      case ParamType::kIntArray:
        return Sizes(v);
      case ParamType::kFloatList: {
        std::vector<double> out;
        for (const RuleValue& e : List(v)) {
          if (!e.is_number()) Wrong(v);
          out.push_back(e.number());
        }
        return out;
      }
      case ParamType::kScalar:
        if (const bool* b = v.As<bool>()) return Scalar(*b);
        if (const int64_t* i = v.As<int64_t>()) return Scalar(*i);
        if (const double* d = v.As<double>()) return Scalar(*d);
        Wrong(v);
      case ParamType::kDType:
        return Type(v);
      case ParamType::kPlace:
        return Value();
    }
    Wrong(v);
  }

 private:
  [[noreturn]] void Wrong(const RuleValue& v) const {
    FailArgument(op_.name, ": ", p_.name, " must not be ", KindName(v), " ",
                 ToString(v));
  }
  RuleList List(const RuleValue& v) const {
    if (const RuleList* l = v.As<RuleList>()) return *l;
    return {v};
  }
  Value Sizes(const RuleValue& v) const {
    if (const Tensor* t = v.As<Tensor>()) return IntArray(*t);
    const RuleList list = List(v);
    const bool late = std::ranges::any_of(
        list, [](const RuleValue& e) { return e.As<Tensor>() != nullptr; });
    if (late) {
      const Tensor t = StackSizes(list);
      if (p_.type == ParamType::kIntList) return t;
      return IntArray(t);
    }
    std::vector<int64_t> sizes;
    for (const RuleValue& e : list) sizes.push_back(e.integer());
    if (p_.type == ParamType::kIntList) return sizes;
    return IntArray(std::span<const int64_t>(sizes));
  }
  DType Type(const RuleValue& v) const {
    if (const DType* t = v.As<DType>()) return *t;
    std::optional<DType> t;
    if (const std::string* s = v.As<std::string>()) t = ParseDType(*s);
    if (const int64_t* code = v.As<int64_t>()) t = DTypeOfCode(*code);
    if (!t.has_value()) Wrong(v);
    return *t;
  }

  const OpDefinition& op_;
  const ParamInfo& p_;
  const Tensor& like_;
};

}  // namespace

double RuleValue::number() const {
  if (const bool* b = As<bool>()) return *b;
  if (const int64_t* i = As<int64_t>()) return static_cast<double>(*i);
  if (const double* d = As<double>()) return *d;
  FailArgument("a number is needed, not ", KindName(*this), " ",
               ToString(*this));
}

int64_t RuleValue::integer() const {
  if (const int64_t* i = As<int64_t>()) return *i;
  if (const bool* b = As<bool>()) return *b;
  if (const double* d = As<double>()) {
    if (*d == std::floor(*d) && std::abs(*d) < 9e15) {
      return static_cast<int64_t>(*d);
    }
  }
  FailArgument("an integer is needed, not ", KindName(*this), " ",
               ToString(*this));
}

std::string ToString(const RuleValue& v) {
  struct Text {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return absl::StrCat(i); }
    std::string operator()(double d) const { return absl::StrCat(d); }
    std::string operator()(const std::string& s) const {
      return absl::StrCat("'", s.substr(0, 80), "'");
    }
    std::string operator()(DType t) const { return std::string(Name(t)); }
    std::string operator()(const Tensor& t) const { return Describe(t); }
    std::string operator()(const RuleList& l) const {
      std::vector<std::string> texts;
      for (size_t i = 0; i < std::min<size_t>(l.size(), 16); ++i) {
        texts.push_back(reference::ToString(l[i]));
      }
      return absl::StrCat("[", absl::StrJoin(texts, ", "),
                          l.size() > 16 ? ", ...]" : "]");
    }
  };
  return std::visit(Text(), v.v);
}

Tensor AsTensor(const RuleValue& v, const Tensor& like) {
  if (const Tensor* t = v.As<Tensor>()) return *t;
  PROA_REQUIRE(v.is_number(), "a tensor is needed, not ", KindName(v), " ",
               ToString(v));
  DType dtype = v.As<double>() ? DType::kFloat32
                : v.As<bool>() ? DType::kBool
                               : DType::kInt64;
  if (like.defined() &&
      (v.As<double>() == nullptr || kDTypeInfo[int(like.dtype())].kind == 'f' ||
       kDTypeInfo[int(like.dtype())].kind == 'c')) {
    dtype = like.dtype();
  }
  return *CallOp(Op("full"), {{"", RuleList()}, {"", v}, {"dtype", dtype}})
              .As<Tensor>();
}

Tensor StackSizes(const RuleList& list) {
  RuleList parts;
  for (const RuleValue& e : list) {
    if (const Tensor* t = e.As<Tensor>()) {
      const RuleValue one =
          CallOp(Op("reshape"), {{"", *t}, {"", RuleList{int64_t{1}}}});
      parts.push_back(CallOp(Op("cast"), {{"", one}, {"", DType::kInt64}}));
    } else {
      parts.push_back(CallOp(Op("full"), {{"", RuleList{int64_t{1}}},
                                          {"", e.integer()},
                                          {"dtype", DType::kInt64}}));
    }
  }
  return *CallOp(Op("concat"), {{"", parts}, {"", int64_t{0}}}).As<Tensor>();
}

RuleValue CallOp(const OpDefinition& op,
                 const std::vector<NamedArgument>& args) {
  std::vector<const RuleValue*> given(op.params.size());
  Tensor like;
  for (size_t i = 0; i < args.size(); ++i) {
    size_t at = i;
    if (!args[i].name.empty()) {
      at = std::ranges::find_if(
               op.params,
               [&](const ParamInfo& p) { return args[i].name == p.name; }) -
           op.params.begin();
    }
    PROA_REQUIRE(at < given.size() && given[at] == nullptr, op.name,
                 ": there is no parameter for argument ", i, " ", args[i].name,
                 "; it is ", op.signature);
    given[at] = &args[i].value;
    const ParamType type = op.params[at].type;
    if (like.defined()) continue;
    if (const Tensor* t = args[i].value.As<Tensor>();
        t != nullptr && type == ParamType::kTensor) {
      like = *t;
    }
    if (const RuleList* l = args[i].value.As<RuleList>();
        l != nullptr && type == ParamType::kTensorList) {
      for (const RuleValue& e : *l) {
        if (e.As<Tensor>() != nullptr) like = *e.As<Tensor>();
      }
    }
  }
  std::vector<Value> values;
  for (size_t i = 0; i < given.size(); ++i) {
    const ParamInfo& p = op.params[i];
    if (given[i] != nullptr) {
      values.push_back(Converter(op, p, like)(*given[i]));
    } else {
      PROA_REQUIRE(p.default_value != nullptr || p.optional, op.name,
                   ": argument ", p.name, " is missing");
      values.push_back(p.default_value != nullptr ? p.default_value()
                                                  : Value());
    }
  }
  std::vector<Value> results(op.outputs.size());
  CallBoxed(op, values, results);
  RuleList out;
  for (Value& r : results) {
    if (Tensor* t = std::get_if<Tensor>(&r)) {
      out.emplace_back(std::move(*t));
    } else if (auto* l = std::get_if<std::vector<Tensor>>(&r)) {
      RuleList inner;
      for (Tensor& t : *l) inner.emplace_back(std::move(t));
      out.emplace_back(std::move(inner));
    } else {
      out.emplace_back();
    }
  }
  if (out.size() == 1) return std::move(out[0]);
  return out;
}

}  // namespace proa::inline v0::jit::reference
