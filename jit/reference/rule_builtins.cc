// Functions of rules that are no ops: numbers, lists, what is known of tensors.
#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "jit/constant.h"
#include "jit/control_flow.h"
#include "jit/recorder.h"
#include "jit/reference/program_desc.h"
#include "jit/reference/rule_run.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit::reference {
namespace {

using Args = std::vector<NamedArgument>;

const Tensor& TensorAt(const Args& args, size_t i) {
  PROA_REQUIRE(i < args.size(), "argument ", i, " is missing");
  const Tensor* t = args[i].value.As<Tensor>();
  PROA_REQUIRE(t != nullptr, "a tensor is needed, not ",
               ToString(args[i].value));
  return *t;
}

const RuleValue& At(const Args& args, size_t i) {
  PROA_REQUIRE(i < args.size(), "argument ", i, " is missing");
  return args[i].value;
}

const RuleList& ListAt(const Args& args, size_t i) {
  const RuleList* l = At(args, i).As<RuleList>();
  PROA_REQUIRE(l != nullptr, "a list is needed, not ", ToString(At(args, i)));
  return *l;
}

std::string TextAt(const Args& args, size_t i) {
  const std::string* s = At(args, i).As<std::string>();
  PROA_REQUIRE(s != nullptr, "a text is needed, not ", ToString(At(args, i)));
  return *s;
}

RuleValue CallOpNamed(const char* name, const Args& args) {
  const OpDefinition* op = FindOp(name);
  PROA_REQUIRE(op != nullptr, "there is no op '", name, "'");
  return CallOp(*op, args);
}

RuleValue Len(RuleRun&, const Args& args) {
  return static_cast<int64_t>(ListAt(args, 0).size());
}
RuleValue Rank(RuleRun&, const Args& args) {
  return int64_t{TensorAt(args, 0).rank()};
}
RuleValue Size(RuleRun&, const Args& args) {
  const Tensor& t = TensorAt(args, 0);
  const int64_t i = At(args, 1).integer();
  PROA_REQUIRE(i >= -t.rank() && i < t.rank(), "there is no dim ", i, " of ",
               Describe(t));
  return SizeOf(t, static_cast<int>(i < 0 ? i + t.rank() : i));
}
RuleValue ShapeOf(RuleRun&, const Args& args) {
  const Tensor& t = TensorAt(args, 0);
  RuleList out;
  for (int i = 0; i < t.rank(); ++i) out.push_back(SizeOf(t, i));
  return out;
}
RuleValue ShapeTensor(RuleRun&, const Args& args) {
  return CallOpNamed("shape", args);
}
RuleValue TypeOf(RuleRun&, const Args& args) {
  if (const Tensor* t = At(args, 0).As<Tensor>()) return t->dtype();
  if (const DType* t = At(args, 0).As<DType>()) return *t;
  const std::optional<DType> t =
      At(args, 0).As<std::string>() ? ParseDType(*At(args, 0).As<std::string>())
                                    : DTypeOfCode(At(args, 0).integer());
  PROA_REQUIRE(t.has_value(), "there is no element type ",
               ToString(At(args, 0)));
  return *t;
}
RuleValue IsFloat(RuleRun&, const Args& args) {
  return kDTypeInfo[static_cast<int>(TensorAt(args, 0).dtype())].kind == 'f';
}
RuleValue Range(RuleRun&, const Args& args) {
  const int64_t from = args.size() > 1 ? At(args, 0).integer() : 0;
  const int64_t to = At(args, args.size() > 1 ? 1 : 0).integer();
  // What is made of each of them is an operation, or several.
  constexpr uint64_t kMost = 1 << 14;
  PROA_REQUIRE(
      to <= from ||
          static_cast<uint64_t>(to) - static_cast<uint64_t>(from) <= kMost,
      "a list of numbers from ", from, " to ", to, " is too long");
  RuleList out;
  for (int64_t i = from; i < to; ++i) out.push_back(i);
  return out;
}
RuleValue Zip(RuleRun&, const Args& args) {
  RuleList out;
  for (size_t i = 0;; ++i) {
    RuleList together;
    for (size_t k = 0; k < args.size(); ++k) {
      const RuleList& l = ListAt(args, k);
      if (i >= l.size()) return out;
      together.push_back(l[i]);
    }
    if (together.empty()) return out;
    out.push_back(std::move(together));
  }
}
RuleValue Join(RuleRun&, const Args& args) {
  RuleList out;
  for (const RuleValue& l : ListAt(args, 0)) {
    PROA_REQUIRE(l.As<RuleList>() != nullptr, "no list: ", ToString(l));
    for (const RuleValue& v : *l.As<RuleList>()) out.push_back(v);
  }
  return out;
}
RuleValue Int(RuleRun&, const Args& args) {
  if (At(args, 0).As<Tensor>()) {
    return CallOpNamed("cast", {args[0], {"", DType::kInt64}});
  }
  PROA_REQUIRE(At(args, 0).is_number() && std::abs(At(args, 0).number()) < 9e18,
               "no integer: ", ToString(At(args, 0)));
  return static_cast<int64_t>(At(args, 0).number());
}
RuleValue Float(RuleRun&, const Args& args) {
  if (At(args, 0).As<Tensor>()) {
    return CallOpNamed("cast", {args[0], {"", DType::kFloat64}});
  }
  PROA_REQUIRE(At(args, 0).is_number(), "no number: ", ToString(At(args, 0)));
  return At(args, 0).number();
}
template <double (*kFunction)(double), const char* kOp>
RuleValue Math(RuleRun&, const Args& args) {
  if (At(args, 0).As<Tensor>()) return CallOpNamed(kOp, args);
  PROA_REQUIRE(At(args, 0).is_number(), "no number: ", ToString(At(args, 0)));
  return kFunction(At(args, 0).number());
}
constexpr char kFloor[] = "floor", kCeil[] = "ceil", kSqrt[] = "sqrt",
               kExp[] = "exp", kLog[] = "log", kAbs[] = "abs";
double FloorOf(double v) { return std::floor(v); }
double CeilOf(double v) { return std::ceil(v); }
double SqrtOf(double v) { return std::sqrt(v); }
double ExpOf(double v) { return std::exp(v); }
double LogOf(double v) { return std::log(v); }
double AbsOf(double v) { return std::abs(v); }

template <bool kMax>
RuleValue Extreme(RuleRun&, const Args& args) {
  const RuleList* given = At(args, 0).As<RuleList>();
  RuleList list;
  if (given != nullptr) {
    list = *given;
  } else {
    for (const NamedArgument& a : args) list.push_back(a.value);
  }
  PROA_REQUIRE(!list.empty(), "an empty list has no extreme");
  RuleValue best = list[0];
  for (size_t i = 1; i < list.size(); ++i) {
    const Tensor* a = best.As<Tensor>();
    const Tensor* b = list[i].As<Tensor>();
    if (a != nullptr || b != nullptr) {
      const Tensor like = a != nullptr ? *a : *b;
      best = CallOpNamed(
          kMax ? "maximum" : "minimum",
          {{"", AsTensor(best, like)}, {"", AsTensor(list[i], like)}});
    } else if (kMax ? list[i].number() > best.number()
                    : list[i].number() < best.number()) {
      best = list[i];
    }
  }
  return best;
}
RuleValue Require(RuleRun& run, const Args& args) {
  const RuleValue& v = At(args, 0);
  const bool holds = v.is_number() && v.number() != 0;
  PROA_REQUIRE(holds, TextAt(args, 1));
  return {};
}
RuleValue IsTensor(RuleRun&, const Args& args) {
  return At(args, 0).As<Tensor>() != nullptr;
}
RuleValue IsNumber(RuleRun&, const Args& args) {
  return At(args, 0).is_number();
}
RuleValue IsList(RuleRun&, const Args& args) {
  return At(args, 0).As<RuleList>() != nullptr;
}
RuleValue Known(RuleRun&, const Args& args) {
  return KnownNumbers(At(args, 0));
}
// The elements of a list, of a tensor of known length, or one number: a list.
RuleValue Parts(RuleRun&, const Args& args) {
  const RuleValue v = KnownNumbers(At(args, 0));
  if (const RuleList* l = v.As<RuleList>()) {
    RuleList out;
    for (const RuleValue& e : *l) out.push_back(KnownNumbers(e));
    return out;
  }
  const Tensor* t = v.As<Tensor>();
  if (t == nullptr) return RuleList{v};
  if (t->rank() == 0) return RuleList{v};
  PROA_REQUIRE(t->rank() == 1 && !IsUnknown(t->size(0)),
               "the length of a list of sizes must be known before the run; it "
               "is ",
               Describe(*t));
  RuleList out;
  for (int64_t i = 0; i < t->size(0); ++i) {
    const RuleValue one = CallOpNamed("slice", {{"", *t},
                                                {"", RuleList{int64_t{0}}},
                                                {"", RuleList{i}},
                                                {"", RuleList{i + 1}}});
    out.push_back(CallOpNamed("reshape", {{"", one}, {"", RuleList{}}}));
  }
  return out;
}
RuleValue Constant(RuleRun&, const Args& args) {
  const RuleList& list = ListAt(args, 0);
  const RuleValue type = args.size() > 1 ? At(args, 1) : DType::kFloat32;
  const DType* dtype = type.As<DType>();
  std::optional<DType> parsed;
  if (dtype == nullptr && type.As<std::string>()) {
    parsed = ParseDType(*type.As<std::string>());
  } else if (dtype == nullptr) {
    parsed = DTypeOfCode(type.integer());
  } else {
    parsed = *dtype;
  }
  PROA_REQUIRE(parsed.has_value(), "there is no element type ", ToString(type));
  const Tensor t = Tensor::Empty({static_cast<int64_t>(list.size())}, *parsed);
  VisitDType(*parsed, [&]<typename T>(TypeTag<T>) {
    for (size_t i = 0; i < list.size(); ++i) {
      PROA_REQUIRE(list[i].is_number(), "no number: ", ToString(list[i]));
      const Scalar s = list[i].As<double>() ? Scalar(list[i].number())
                                            : Scalar(list[i].integer());
      t.data<T>()[i] = s.to<T>();
    }
  });
  return t;
}
RuleValue SameNamed(RuleRun& run, const Args& args) {
  return CallOpNamed(run.type().c_str(), args);
}
RuleValue TypeText(RuleRun& run, const Args&) { return run.type(); }
RuleValue Before(RuleRun& run, const Args& args) {
  return run.Ask("before", TextAt(args, 0));
}
RuleValue Declared(RuleRun& run, const Args& args) {
  return run.Ask("declared", TextAt(args, 0));
}
RuleValue DeclaredType(RuleRun& run, const Args& args) {
  return run.Ask("declared_type", TextAt(args, 0));
}
// The lengths of the sequences in an input, a list of tensors: of its variable
// `i`.
RuleValue Levels(RuleRun& run, const Args& args) {
  const RuleValue all = run.Ask("levels", TextAt(args, 0));
  const RuleList* list = all.As<RuleList>();
  const auto i =
      static_cast<size_t>(args.size() > 1 ? At(args, 1).integer() : 0);
  return list == nullptr || i >= list->size() ? RuleList{} : (*list)[i];
}
// The last of them: those of the rows.
RuleValue Lengths(RuleRun& run, const Args& args) {
  const RuleValue levels = Levels(run, args);
  const RuleList& list = *levels.As<RuleList>();
  PROA_REQUIRE(!list.empty(), "nothing is known of the sequences in ",
               TextAt(args, 0),
               ": no input with lod_level leads to it, or a block does");
  return list.back();
}
RuleValue ByLetters(RuleRun&, const Args& args) {
  return Einsum(ListAt(args, 0), TextAt(args, 1));
}
RuleValue Sequences(RuleRun& run, const Args& args) {
  const int64_t i = args.size() > 2 ? At(args, 2).integer() : 0;
  PROA_REQUIRE(i >= 0, "sequences: there is no output ", i);
  run.Tell("levels", TextAt(args, 0), ListAt(args, 1), static_cast<size_t>(i));
  return {};
}
RuleValue Items(RuleRun& run, const Args& args) {
  if (args.size() == 1) return run.Ask("items", TextAt(args, 0));
  run.Tell("items", TextAt(args, 0), ListAt(args, 1));
  return {};
}
RuleValue Lower(RuleRun&, const Args& args) {
  std::string s = TextAt(args, 0);
  absl::AsciiStrToLower(&s);
  return s;
}
// A number that is written as a text.
RuleValue Decimal(RuleRun&, const Args& args) {
  const std::string text = TextAt(args, 0);
  int64_t whole;
  double number;
  if (absl::SimpleAtoi(text, &whole)) return whole;
  PROA_REQUIRE(absl::SimpleAtod(text, &number), "no number: '",
               absl::CEscape(text.substr(0, 80)), "'");
  return number;
}
RuleValue Op(RuleRun&, const Args& args) {
  const std::string name = TextAt(args, 0);
  return CallOpNamed(name.c_str(), Args(args.begin() + 1, args.end()));
}

// Of a program with huge constants none is computed before the run: a file may
// ask for any size.
bool HasHugeConstant(const Program& program) {
  constexpr int64_t kHuge = int64_t{1} << 24;
  return std::ranges::any_of(program.values(), [](const ValueInfo& v) {
    return v.constant && v.meta.shape.known() && v.meta.shape.numel() > kHuge;
  });
}

}  // namespace

RuleValue KnownNumbers(const RuleValue& v) {
  constexpr int64_t kMost = 1024;
  const Tensor* t = v.As<Tensor>();
  if (t == nullptr) return v;
  const Tensor found = t->is_symbolic() && IsConstant(*t) &&
                               t->shape().known() && t->numel() <= kMost &&
                               !HasHugeConstant(*SymbolOf(*t).program())
                           ? ElementsOfConstant(*t)
                       : t->is_symbolic() ? Tensor()
                                          : *t;
  if (!found.defined() || found.numel() > kMost || found.rank() > 1) return v;
  const Tensor plain =
      Contiguous(found.place().is_cpu() ? found : CopyTo(found, Place{}, true));
  RuleList out;
  VisitDType(plain.dtype(), [&]<typename T>(TypeTag<T>) {
    for (int64_t i = 0; i < plain.numel(); ++i) {
      if constexpr (IsComplex(kDTypeOf<T>)) {
        continue;
      } else if constexpr (std::is_same_v<T, bool>) {
        out.push_back(plain.data<T>()[i]);
      } else if constexpr (std::is_integral_v<T>) {
        out.push_back(static_cast<int64_t>(plain.data<T>()[i]));
      } else {
        out.push_back(static_cast<double>(plain.data<T>()[i]));
      }
    }
  });
  if (static_cast<int64_t>(out.size()) != plain.numel()) return v;
  if (plain.rank() == 0) return out[0];
  return out;
}

RuleValue SizeOf(const Tensor& t, int axis) {
  if (!IsUnknown(t.size(axis))) return t.size(axis);
  const RuleValue all = CallOpNamed("shape", {{"", t}});
  const RuleValue one =
      CallOpNamed("slice", {{"", all},
                            {"", RuleList{int64_t{0}}},
                            {"", RuleList{int64_t{axis}}},
                            {"", RuleList{axis + int64_t{1}}}});
  return CallOpNamed("reshape", {{"", one}, {"", RuleList{}}});
}

namespace {

// repeat(count, "step", states, others): states = step(i, states, others) for
// i = 0, 1, ..., where i is a tensor and so is every state.
RuleValue Repeat(RuleRun& run, const Args& args) {
  const RuleValue count = At(args, 0);
  const std::string step = TextAt(args, 1);
  const Tensor first = *CallOpNamed("full", {{"", RuleList{}},
                                             {"", int64_t{0}},
                                             {"dtype", DType::kInt64}})
                            .As<Tensor>();
  std::vector<Tensor> states = {first};
  for (const RuleValue& v : ListAt(args, 2)) {
    states.push_back(AsTensor(v, Tensor()));
  }
  const RuleValue last =
      count.As<Tensor>() == nullptr
          ? RuleValue(AsTensor(count.integer(), first))
          : CallOpNamed("cast", {{"", count}, {"", DType::kInt64}});
  const std::vector<Tensor> found = WhileLoop(
      [&](const std::vector<Tensor>& now) {
        return *CallOpNamed("less_than", {{"", now[0]}, {"", last}})
                    .As<Tensor>();
      },
      [&](const std::vector<Tensor>& now) {
        const RuleValue next =
            run.Call(step, {{"", now[0]},
                            {"", RuleList(now.begin() + 1, now.end())},
                            {"", At(args, 3)}});
        const RuleList* list = next.As<RuleList>();
        PROA_REQUIRE(list != nullptr && list->size() + 1 == now.size(), step,
                     ": must give ", now.size() - 1, " states");
        std::vector<Tensor> out = {
            *CallOpNamed("add",
                         {{"", now[0]}, {"", AsTensor(int64_t{1}, first)}})
                 .As<Tensor>()};
        for (size_t i = 0; i < list->size(); ++i) {
          out.push_back(AsTensor((*list)[i], now[i + 1]));
        }
        return out;
      },
      states);
  return RuleList(found.begin() + 1, found.end());
}

}  // namespace

RuleBuiltin FindRuleBuiltin(const std::string& name) {
  static const auto* const builtins = new std::map<std::string, RuleBuiltin>{
      {"len", &Len},
      {"rank", &Rank},
      {"size", &Size},
      {"shape", &ShapeOf},
      {"shape_tensor", &ShapeTensor},
      {"dtype", &TypeOf},
      {"is_float", &IsFloat},
      {"range", &Range},
      {"zip", &Zip},
      {"join", &Join},
      {"int", &Int},
      {"float", &Float},
      {"floor", &Math<&FloorOf, kFloor>},
      {"ceil", &Math<&CeilOf, kCeil>},
      {"sqrt", &Math<&SqrtOf, kSqrt>},
      {"exp", &Math<&ExpOf, kExp>},
      {"log", &Math<&LogOf, kLog>},
      {"abs", &Math<&AbsOf, kAbs>},
      {"most", &Extreme<true>},
      {"least", &Extreme<false>},
      {"require", &Require},
      {"is_tensor", &IsTensor},
      {"is_number", &IsNumber},
      {"is_list", &IsList},
      {"known", &Known},
      {"parts", &Parts},
      {"constant", &Constant},
      {"same", &SameNamed},
      {"type", &TypeText},
      {"before", &Before},
      {"declared", &Declared},
      {"declared_type", &DeclaredType},
      {"levels", &Levels},
      {"lengths", &Lengths},
      {"sequences", &Sequences},
      {"items", &Items},
      {"by_letters", &ByLetters},
      {"lower", &Lower},
      {"decimal", &Decimal},
      {"op", &Op},
      {"repeat", &Repeat},
  };
  const auto at = builtins->find(name);
  return at == builtins->end() ? nullptr : at->second;
}

}  // namespace proa::inline v0::jit::reference
