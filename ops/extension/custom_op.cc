#include "ops/extension/custom_op.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/extension/custom_call.h"
#include "ops/extension/origin.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

constexpr std::string_view kGrad = "@GRAD";
constexpr std::string_view kNew = "@NEW";

// OpDefinition::call is a plain function, so each op has one of its own: that
// of its slot.
constexpr size_t kMostOps = 1024;
struct Slot {
  const CustomOp* op = nullptr;
  bool inplace = false;
};
std::array<Slot, kMostOps> slots;
size_t slots_taken = 0;  // guarded by the lock of DefineOps

struct SlotFunctions {
  void (*call)(std::span<const Value> args, std::span<Value> results);
  void (*infer)(std::span<const Value> args,
                std::span<std::vector<TensorMeta>> results);
};
template <size_t i>
constexpr SlotFunctions FunctionsOf() {
  return {[](std::span<const Value> args, std::span<Value> results) {
            slots[i].op->Call(slots[i].inplace, args, results);
          },
          [](std::span<const Value> args,
             std::span<std::vector<TensorMeta>> results) {
            slots[i].op->Infer(args, results);
          }};
}
template <size_t... i>
constexpr std::array<SlotFunctions, sizeof...(i)> AllFunctions(
    std::index_sequence<i...>) {
  return {FunctionsOf<i>()...};
}
constexpr auto slot_functions =
    AllFunctions(std::make_index_sequence<kMostOps>());

const char* TypeName(const CustomParam& p) {
  switch (p.type) {
    case ParamType::kTensor:
      return p.optional ? "Tensor?" : "Tensor";
    case ParamType::kTensorList:
      return p.optional ? "Tensor[]?" : "Tensor[]";
    case ParamType::kBool:
      return "bool";
    case ParamType::kInt:
      return "int";
    case ParamType::kFloat:
      return "float";
    case ParamType::kString:
      return p.is_string_list ? "str[]" : "str";
    case ParamType::kIntList:
      return "int[]";
    case ParamType::kFloatList:
      return "float[]";
    default:
      return nullptr;
  }
}

bool IsTensors(const CustomParam& p) {
  return p.type == ParamType::kTensor || p.type == ParamType::kTensorList;
}

bool IsIdentifier(std::string_view s) {
  return !s.empty() && std::isdigit(static_cast<unsigned char>(s[0])) == 0 &&
         std::ranges::all_of(s, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_';
         });
}

// "Out@GRAD" is "Out_grad" where names are identifiers: in the registry, in
// files, in Python.
std::string PlainName(const std::string& name) {
  return absl::StrReplaceAll(name, {{"@GRAD", "_grad"}, {"@NEW", "_new"}});
}

template <typename Items>
int IndexOf(const Items& items, std::string_view name) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

void CheckInplaceOutput(const CustomOpRules& r, const CustomOutput& o) {
  if (o.inplace < 0) return;
  PROA_REQUIRE(o.inplace < static_cast<int>(r.params.size()) &&
                   IsTensors(r.params[o.inplace]),
               r.name, ": output ", o.name,
               " is no parameter with tensors, changed in place");
  PROA_REQUIRE(
      (r.params[o.inplace].type == ParamType::kTensorList) == o.is_list, r.name,
      ": of output ", o.name, " and parameter ", r.params[o.inplace].name,
      ", which it is in place, one is a list");
  const auto same = [&](const CustomOutput& other) {
    return other.inplace == o.inplace;
  };
  PROA_REQUIRE(std::ranges::count_if(r.outputs, same) == 1, r.name,
               ": two outputs are parameter ", r.params[o.inplace].name,
               " in place");
}

void CheckNames(const CustomOpRules& r) {
  PROA_REQUIRE(IsIdentifier(r.name), "an op is called '", r.name,
               "'; names are letters, digits and _");
  std::vector<std::string> seen;
  for (const CustomParam& p : r.params) {
    PROA_REQUIRE(TypeName(p) != nullptr, r.name, ": parameter ", p.name,
                 " has a type that custom ops do not take");
    seen.push_back(PlainName(p.name));
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    PROA_REQUIRE(IsIdentifier(seen[i]), r.name, ": a parameter is called '",
                 r.params[i].name, "'; names are letters, digits and _");
    PROA_REQUIRE(std::ranges::count(seen, seen[i]) == 1, r.name,
                 ": two parameters are called ", seen[i]);
  }
  seen.clear();
  for (const CustomOutput& o : r.outputs) seen.push_back(PlainName(o.name));
  for (size_t i = 0; i < seen.size(); ++i) {
    PROA_REQUIRE(IsIdentifier(seen[i]), r.name, ": an output is called '",
                 r.outputs[i].name, "'; names are letters, digits and _");
    PROA_REQUIRE(std::ranges::count(seen, seen[i]) == 1, r.name,
                 ": two outputs are called ", seen[i]);
  }
}

void CheckRules(const CustomOpRules& r) {
  CheckNames(r);
  PROA_REQUIRE(r.kernel != nullptr, r.name,
               ": has no kernel (SetKernelFn(PD_KERNEL(...)))");
  PROA_REQUIRE(!r.outputs.empty(), r.name, ": has no output");
  PROA_REQUIRE(r.params.size() <= 32, r.name, ": has ", r.params.size(),
               " parameters; 32 are the most");
  const auto attribute = [](const CustomParam& p) { return !IsTensors(p); };
  const auto first = std::ranges::find_if(r.params, attribute);
  PROA_REQUIRE(std::all_of(first, r.params.end(), attribute), r.name,
               ": tensors come before attributes");
  for (const CustomOutput& o : r.outputs) CheckInplaceOutput(r, o);
}

constinit CustomOpDifferentiator installed_differentiator = nullptr;

}  // namespace

std::string_view WithoutGrad(std::string_view name) {
  return name.ends_with(kGrad) ? name.substr(0, name.size() - kGrad.size())
                               : std::string_view();
}

CustomOp::CustomOp(CustomOpRules rules, std::string extension)
    : rules_(std::move(rules)), extension_(std::move(extension)) {
  const bool inplace = std::ranges::any_of(
      rules_.outputs, [](const CustomOutput& o) { return o.inplace >= 0; });
  if (inplace) inplace_name_ = rules_.name + "_";
  MakeSignature();
}

void CustomOp::MakeSignature() {
  std::string args, outs;
  for (const CustomParam& p : rules_.params) {
    names_.push_back(PlainName(p.name));
    absl::StrAppend(&args, args.empty() ? "" : ", ", TypeName(p), " ",
                    names_.back());
  }
  for (const CustomOutput& o : rules_.outputs) {
    names_.push_back(PlainName(o.name));
    absl::StrAppend(&outs, outs.empty() ? "" : ", ",
                    o.is_list ? "Tensor[] " : "Tensor ", names_.back());
  }
  signature_ = absl::StrCat(rules_.name, "(", args, ") -> ", outs);
  inplace_signature_ = absl::StrCat(inplace_name_, "(", args, ") -> ", outs);
  source_ = absl::StrCat("extension ", extension_);
  size_t n = 0;
  for (const CustomParam& p : rules_.params) {
    // Calls give every attribute: a default is of the function that calls.
    params_.push_back(
        {names_[n++].c_str(), p.type, p.optional, nullptr, nullptr});
  }
  for (const CustomOutput& o : rules_.outputs) {
    outputs_.push_back({names_[n++].c_str(), o.is_list, -1});
  }
}

OpDefinition CustomOp::MakeDefinition(bool inplace, size_t slot) const {
  // Autocast does not lower what may know no 16-bit types.
  const uint32_t dtypes = (1u << kNumDTypes) - 1 - DTypeBit(DType::kFloat16) -
                          DTypeBit(DType::kBFloat16);
  uint32_t changes = 0;
  for (const CustomOutput& o : rules_.outputs) {
    if (inplace && o.inplace >= 0) changes |= 1u << o.inplace;
  }
  OpDefinition d{};
  d.name = NameOf(inplace);
  d.version = 1;
  d.signature = inplace ? inplace_signature_.c_str() : signature_.c_str();
  d.doc = rules_.doc.c_str();
  d.source = source_.c_str();
  d.params = params_;
  d.outputs = outputs_;
  if (inplace) d.traits |= kTraitInplace;
  if (rules_.composite) d.traits |= kTraitComposite;
  if (gradient_.op != nullptr || lacks_gradient())
    d.traits |= kTraitDifferentiable;
  d.amp = AmpClass::kKeep;
  d.fuse = FuseClass::kNone;
  d.dtypes = dtypes;
  d.changes = changes;
  d.call = slot_functions[slot].call;
  if (!inplace && !rules_.composite) d.infer = slot_functions[slot].infer;
  return d;
}

void CustomOp::PlanGradient(const CustomOp& gradient) {
  using From = GradientPlan::From;
  const CustomOpRules& g = gradient.rules();
  GradientPlan plan{&gradient, {}, {}};
  for (const CustomParam& p : g.params) {
    const std::string_view base = WithoutGrad(p.name);
    const int grad = base.empty() ? -1 : IndexOf(rules_.outputs, base);
    const int param = IndexOf(rules_.params, p.name);
    const int output = IndexOf(rules_.outputs, p.name);
    if (grad >= 0) {
      plan.args.push_back({From::kGradient, grad});
    } else if (param >= 0) {
      PROA_REQUIRE(p.type == rules_.params[param].type, g.name, ": ", p.name,
                   " is ", TypeName(p), "; of ", rules_.name, " it is ",
                   TypeName(rules_.params[param]));
      plan.args.push_back({From::kParam, param});
    } else {
      PROA_REQUIRE(output >= 0 && IsTensors(p), g.name, ": ", p.name,
                   " is neither a parameter nor an output of ", rules_.name,
                   ", nor the gradient of an output; ", signature_);
      plan.args.push_back({From::kOutput, output});
    }
    if (param >= 0 && grad < 0) continue;
    const CustomOutput& o = rules_.outputs[plan.args.back().index];
    PROA_REQUIRE(o.is_list == (p.type == ParamType::kTensorList), g.name,
                 ": of ", p.name, " and output ", o.name, " of ", rules_.name,
                 " one is a list");
  }
  for (const CustomOutput& o : g.outputs) {
    std::string_view name = o.name;
    const bool is_new = name.ends_with(kNew);
    if (is_new) name.remove_suffix(kNew.size());
    const std::string_view base = WithoutGrad(name);
    int target = base.empty() ? -1 : IndexOf(rules_.params, base);
    if (target < 0 && is_new) target = IndexOf(rules_.params, name);
    PROA_REQUIRE(target >= 0 && IsTensors(rules_.params[target]), g.name,
                 ": output ", o.name,
                 " is not the gradient of a tensor parameter of ", rules_.name,
                 "; ", signature_);
    PROA_REQUIRE(
        o.is_list == (rules_.params[target].type == ParamType::kTensorList),
        g.name, ": of ", o.name, " and parameter ", rules_.params[target].name,
        " of ", rules_.name, " one is a list");
    PROA_REQUIRE(std::ranges::count(plan.targets, target) == 0, g.name,
                 ": two outputs are gradients of ", rules_.params[target].name);
    plan.targets.push_back(target);
  }
  gradient_ = std::move(plan);
}

// Ops that are defined together.
class CustomOpBatch {
 public:
  static std::vector<const CustomOp*> Define(const std::string& extension,
                                             std::vector<CustomOpRules> rules) {
    static auto* mutex = new std::mutex;
    const std::lock_guard lock(*mutex);
    std::vector<std::unique_ptr<CustomOp>> ops;
    for (CustomOpRules& r : rules) {
      CheckRules(r);
      ops.emplace_back(new CustomOp(std::move(r), extension));
    }
    size_t entries = 0;
    for (const auto& op : ops) {
      CheckFree(op->rules_.name, extension, ops);
      ++entries;
      if (op->inplace_name_.empty()) continue;
      CheckFree(op->inplace_name_, extension, ops);
      ++entries;
    }
    if (slots_taken + entries > kMostOps) {
      Fail(absl::StatusCode::kResourceExhausted, extension, ": more than ",
           kMostOps, " custom ops in a process");
    }
    for (const auto& op : ops) FindGradient(*op, ops);
    return Register(std::move(ops));
  }

 private:
  using Ops = std::vector<std::unique_ptr<CustomOp>>;

  static void CheckFree(const std::string& name, const std::string& extension,
                        const Ops& ops) {
    if (const OpDefinition* other = FindOp(name)) {
      Fail(absl::StatusCode::kAlreadyExists, "extension ", extension,
           ": there is an op '", name, "' already, of ", other->source,
           "; give this one another name, or, if it is the same extension "
           "built anew, start the process again");
    }
    const auto same = [&](const auto& op) {
      return op->rules_.name == name || op->inplace_name_ == name;
    };
    PROA_REQUIRE(std::ranges::count_if(ops, same) == 1, "extension ", extension,
                 ": two ops are called '", name, "'");
  }

  static void FindGradient(CustomOp& op, const Ops& ops) {
    const std::string& name = op.rules_.gradient;
    if (name.empty()) return;
    const auto found = std::ranges::find_if(
        ops, [&](const auto& g) { return g->rules_.name == name; });
    PROA_REQUIRE(found != ops.end(), op.rules_.name, ": its gradient is ", name,
                 ", which the extension does not define");
    op.PlanGradient(**found);
    (*found)->is_gradient_ = true;
  }

  static std::vector<const CustomOp*> Register(Ops ops) {
    std::vector<const CustomOp*> out;
    std::vector<const OpDefinition*> definitions;
    for (auto& owned : ops) {
      CustomOp& op = *owned.release();  // for ever
      for (const bool inplace : {false, true}) {
        if (inplace && op.inplace_name_.empty()) continue;
        const size_t slot = slots_taken++;
        slots[slot] = {&op, inplace};
        OpDefinition& d = inplace ? op.inplace_definition_ : op.definition_;
        d = op.MakeDefinition(inplace, slot);
        SetOrigin(d, op.extension_.c_str());
        definitions.push_back(&d);
      }
      out.push_back(&op);
    }
    const OpRegistration registration(definitions);
    return out;
  }
};

std::vector<const CustomOp*> DefineOps(const std::string& extension,
                                       std::vector<CustomOpRules> rules) {
  return CustomOpBatch::Define(extension, std::move(rules));
}

const CustomOp* FindCustomOp(const OpDefinition& op) {
  for (const Slot& slot : slots) {
    if (slot.op == nullptr) break;
    if (&slot.op->definition() == &op || slot.op->inplace_definition() == &op) {
      return slot.op;
    }
  }
  return nullptr;
}

void InstallCustomOpDifferentiator(CustomOpDifferentiator differentiate) {
  installed_differentiator = differentiate;
}
CustomOpDifferentiator InstalledCustomOpDifferentiator() {
  return installed_differentiator;
}

std::string JoinStrings(std::span<const std::string> items) {
  std::string out;
  for (const std::string& item : items) {
    absl::StrAppend(
        &out, absl::StrReplaceAll(item, {{"\\", "\\\\"}, {"\n", "\\n"}}), "\n");
  }
  return out;
}

std::vector<std::string> SplitStrings(std::string_view joined) {
  std::vector<std::string> out;
  std::string item;
  for (size_t i = 0; i < joined.size(); ++i) {
    if (joined[i] == '\n') {
      out.push_back(std::exchange(item, {}));
    } else if (joined[i] == '\\' && i + 1 < joined.size()) {
      ++i;
      item += joined[i] == 'n' ? '\n' : joined[i];
    } else {
      item += joined[i];
    }
  }
  return out;
}

}  // namespace proa::inline v0::ops
