#include "jit/reference/import.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/control_flow.h"
#include "jit/prune.h"
#include "jit/recorder.h"
#include "jit/reference/rule_run.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit::reference {
namespace {

constexpr int kMaxDepth = 100;  // of blocks
constexpr const char* kGrad = "@GRAD";

std::string Quoted(const std::string& s) {
  return absl::StrCat("'", absl::CEscape(s.substr(0, 80)), "'");
}

// Ops of late releases write small what older ones wrote large: x, X.
bool SameSlot(const std::string& a, const std::string& b) {
  return absl::EqualsIgnoreCase(a, b);
}

const std::vector<std::string>* FindSlot(const Slots& slots,
                                         const std::string& name) {
  for (const auto& [slot, arguments] : slots) {
    if (SameSlot(slot, name)) return &arguments;
  }
  return nullptr;
}

// The only variable of a slot.
const std::string& OneOf(const OpDesc& op, const Slots& slots,
                         const std::string& name) {
  const std::vector<std::string>* s = FindSlot(slots, name);
  PROA_REQUIRE(s != nullptr && s->size() == 1, "it must have one ", name);
  return (*s)[0];
}

int BlockOf(const OpDesc& op) {
  const auto at = op.attributes.find("sub_block");
  PROA_REQUIRE(
      at != op.attributes.end() && at->second.kind == AttributeKind::kBlock,
      "it has no block");
  return static_cast<int>(std::get<int64_t>(at->second.value));
}

struct ToRuleValue {
  RuleValue operator()(bool v) const { return v; }
  RuleValue operator()(int64_t v) const { return v; }
  RuleValue operator()(double v) const { return v; }
  RuleValue operator()(const std::string& v) const { return v; }
  template <typename T>
  RuleValue operator()(const std::vector<T>& v) const {
    return RuleList(v.begin(), v.end());
  }
};
RuleValue AttributeValue(const AttributeDesc& a) {
  return std::visit(ToRuleValue(), a.value);
}

// Whether an attribute that a rule does not know changes nothing: it is off.
bool IsOff(const AttributeDesc& a) {
  struct Off {
    bool operator()(bool v) const { return !v; }
    bool operator()(int64_t v) const { return v == 0; }
    bool operator()(double v) const { return v == 0; }
    bool operator()(const std::string& v) const { return v.empty(); }
    bool operator()(const std::vector<int64_t>& v) const { return v.empty(); }
    bool operator()(const std::vector<double>& v) const { return v.empty(); }
    bool operator()(const std::vector<std::string>& v) const {
      return std::ranges::all_of(v, [](auto& s) { return s.empty(); });
    }
  };
  return std::visit(Off(), a.value);
}

// The variable that `name` is a gradient of: x@GRAD, x@GRAD@RENAME@block0@0,
// and where gradients are added a second time grad/grad/x@GRAD.
std::string WithoutGrad(std::string name) {
  while (name.starts_with("grad/")) name.erase(0, 5);
  return name.substr(0, name.find(kGrad));
}

// Does the op give the gradients of another one?
bool IsGradient(const OpDesc& op) { return op.type.ends_with("_grad"); }
std::string ForwardOf(const OpDesc& op) {
  return op.type.substr(0, op.type.size() - 5);
}

bool IsFloating(DType t) { return kDTypeInfo[static_cast<int>(t)].kind == 'f'; }

// An argument by slot and place.
using Place = std::pair<std::string, size_t>;
Place PlaceOf(const std::string& slot, size_t i) {
  return {absl::AsciiStrToLower(slot), i};
}

// What an op took and made, for the op that gives its gradients: they start at
// `results` and end at `arguments`, which are handles of this op alone.
struct Call {
  std::string type;
  std::map<Place, Tensor> arguments;
  std::map<std::string, Tensor> results;  // by name
};

// What variables hold while a block is translated.
struct Scope {
  std::map<std::string, Tensor> values;
  // Of a block that is run on a condition: what it gives is recorded when it is
  // known what it is chosen against.
  struct Waiting {
    Tensor predicate;
    int block;
    std::map<std::string, Tensor> before;  // what it sees
  };
  std::map<std::string, std::shared_ptr<Waiting>> waiting;
};

class Importer {
 public:
  Importer(const ProgramDesc& desc,
           const std::function<Tensor(const std::string&)>& parameter,
           const RuleBook& book)
      : desc_(desc), parameter_(parameter), book_(book) {
    for (const BlockDesc& b : desc.blocks) {
      for (const VarDesc& v : b.vars) vars_.emplace(v.name, &v);
      for (const OpDesc& op : b.ops) {
        for (const auto& [slot, out] : op.outputs) {
          changed_.insert(out.begin(), out.end());
        }
      }
    }
  }

  Module Run();
  WholeProgram RunWhole(const Autograd& autograd);

  using Handler = void (Importer::*)(const OpDesc&, Scope&);
  static const std::map<std::string, Handler>& Handlers();

 private:
  void CheckKnown() const;
  void CheckBlocks() const;
  std::vector<std::string> NewerVersions() const;
  int64_t VersionOf(const std::string& type) const {
    const auto at = desc_.op_versions.find(type);
    return at == desc_.op_versions.end() ? 0 : at->second;
  }
  void Inputs(Scope& scope);
  void Block(int index, Scope& scope);
  void Op(const OpDesc& op, Scope& scope);
  void ByRule(const OpDesc& op, const Rule& rule, Scope& scope);
  bool HasGradientRule(const OpDesc& op) const {
    return whole_ && IsGradient(op) && !book_.rules.contains(op.type) &&
           book_.rules.contains(ForwardOf(op));
  }
  void Gradient(const OpDesc& op, Scope& scope);
  Tensor Argument(const std::string& slot, size_t i, const std::string& name,
                  Scope& scope);
  bool IsTrained(const VarDesc& v) const;

  void Feed(const OpDesc& op, Scope& scope);
  void Fetch(const OpDesc& op, Scope& scope);
  void Loop(const OpDesc& op, Scope& scope);
  void Conditional(const OpDesc& op, Scope& scope);
  void Select(const OpDesc& op, Scope& scope);
  void Nothing(const OpDesc&, Scope&) {}

  const BlockDesc& BlockAt(int index) const {
    PROA_REQUIRE(index > 0 && index < static_cast<int>(desc_.blocks.size()),
                 "there is no block ", index);
    return desc_.blocks[index];
  }
  const VarDesc* Var(const std::string& name) const {
    const auto at = vars_.find(name);
    return at == vars_.end() ? nullptr : at->second;
  }
  // Names that a block, or one within, gives new values.
  void Written(int index, std::set<std::string>& names, int depth = 0) const;
  // Undefined if there is none.
  Tensor Find(const std::string& name, Scope& scope);
  Tensor Get(const std::string& name, Scope& scope);
  void Set(const std::string& name, Tensor t, Scope& scope);
  // What stands for a variable that has no value yet.
  Tensor Placeholder(const std::string& name);
  Tensor Truth(const Tensor& t) const;
  TensorList Outputs(int block, const std::vector<std::string>& names,
                     std::map<std::string, Tensor> values);

  const ProgramDesc& desc_;
  const std::function<Tensor(const std::string&)>& parameter_;
  const RuleBook& book_;
  std::map<std::string, const VarDesc*> vars_;
  std::map<std::string, Tensor> parameters_;
  std::set<std::string> changed_;  // what some op gives
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::map<int64_t, ValueId> feeds_;
  std::map<int64_t, std::pair<std::string, Tensor>> fetches_;
  int depth_ = 0;
  // Of a program as a whole:
  bool whole_ = false;
  const Autograd* autograd_ = nullptr;
  std::set<std::string> differentiated_;  // what some op gives the gradient of
  std::map<std::string, std::shared_ptr<Call>> calls_;  // by their results
  std::shared_ptr<Call> call_;  // the one that is translated
};

const std::map<std::string, Importer::Handler>& Importer::Handlers() {
  static const auto* const handlers = new std::map<std::string, Handler>{
      {"feed", &Importer::Feed},
      {"fetch", &Importer::Fetch},
      {"fetch_v2", &Importer::Fetch},
      {"while", &Importer::Loop},
      {"conditional_block", &Importer::Conditional},
      {"conditional_block_infer", &Importer::Conditional},
      {"select_input", &Importer::Select},
      {"delete_var", &Importer::Nothing},
      {"nop", &Importer::Nothing},
  };
  return *handlers;
}

// Lists everything that is not known, with attributes, once for each type.
void Importer::CheckKnown() const {
  std::map<std::string, std::pair<int, std::string>> unknown;
  for (size_t b = 0; b < desc_.blocks.size(); ++b) {
    for (const OpDesc& op : desc_.blocks[b].ops) {
      if (Handlers().contains(op.type) || HasGradientRule(op)) continue;
      const auto at = book_.rules.find(op.type);
      std::vector<std::string> texts;
      for (const auto& [name, a] : op.attributes) {
        if (book_.ignored.contains(name)) continue;
        if (at != book_.rules.end() &&
            (IsOff(a) ||
             std::ranges::any_of(at->second->attributes,
                                 [&](auto& p) { return p.name == name; }))) {
          continue;
        }
        texts.push_back(
            absl::StrCat(absl::CEscape(name.substr(0, 80)), "=", ToString(a)));
      }
      if (at != book_.rules.end() && texts.empty()) continue;
      auto& [count, text] = unknown[op.type];
      if (++count == 1) {
        text = absl::StrCat(at == book_.rules.end() ? "" : "attributes ", "(",
                            absl::StrJoin(texts, ", "), ")");
      }
    }
  }
  if (unknown.empty()) return;
  std::vector<std::string> lines;
  for (const auto& [type, what] : unknown) {
    lines.push_back(absl::StrCat("  ", absl::CEscape(type.substr(0, 80)), " ",
                                 what.second, " in ", what.first,
                                 what.first == 1 ? " op" : " ops"));
  }
  ThrowError(absl::StatusCode::kUnimplemented,
             absl::StrCat("the program has ops that are not known:\n",
                          absl::StrJoin(lines, "\n")));
}

// What is to be said of ops that were saved by a release whose meaning of them
// may be another than the rules know.
std::vector<std::string> Importer::NewerVersions() const {
  std::set<std::string> types;
  for (const BlockDesc& b : desc_.blocks) {
    for (const OpDesc& op : b.ops) {
      if (book_.rules.contains(op.type)) types.insert(op.type);
    }
  }
  std::vector<std::string> out;
  for (const std::string& type : types) {
    const auto at = book_.versions.find(type);
    const int64_t known = at == book_.versions.end() ? 0 : at->second;
    if (VersionOf(type) <= known) continue;
    out.push_back(absl::StrCat(
        "op ", Quoted(type), " was saved as version ", VersionOf(type),
        ", which is newer than version ", known,
        " that is known here; it is read by that one and may compute something "
        "else"));
  }
  return out;
}

// Each block is used once at most, by an op of a block before it.
void Importer::CheckBlocks() const {
  std::vector<bool> used(desc_.blocks.size());
  for (size_t b = 0; b < desc_.blocks.size(); ++b) {
    for (const OpDesc& op : desc_.blocks[b].ops) {
      for (const auto& [name, a] : op.attributes) {
        if (a.kind != AttributeKind::kBlock) continue;
        const int64_t at = std::get<int64_t>(a.value);
        PROA_REQUIRE(at > static_cast<int64_t>(b) &&
                         at < static_cast<int64_t>(used.size()),
                     "block ", b, ": op ", Quoted(op.type), " has no block ",
                     at, " after its own");
        PROA_REQUIRE(!used[at], "block ", at, " belongs to two ops");
        used[at] = true;
      }
    }
  }
}

Module Importer::Run() {
  CheckBlocks();
  CheckKnown();
  const StaticModeScope recording(program_);
  const InterpreterScope plain =
      InterpreterScope::Forbid(kProfile | kAutocast | kDifferentiate);
  Scope scope;
  Inputs(scope);
  Block(0, scope);
  Module module;
  module.program = program_;
  module.warnings = NewerVersions();
  for (const auto& [column, id] : feeds_) module.inputs.push_back(id);
  for (const auto& [column, out] : fetches_) {
    module.outputs.push_back(SymbolOf(out.second).id());
    module.output_names.push_back(out.first);
  }
  PROA_REQUIRE(!module.outputs.empty(),
               "the program fetches nothing; it was saved for training, or is "
               "a start-up program");
  std::vector<std::string> trainable;
  for (const auto& [name, t] : parameters_) {
    const bool floating =
        IsFloating(SymbolOf(t).program()->value(SymbolOf(t).id()).meta.dtype);
    // Running statistics are changed, or say that they have no gradient.
    if (floating && !changed_.contains(name) && !Var(name)->stop_gradient) {
      trainable.push_back(name);
    }
  }
  Module out = Prune(module);
  std::erase_if(trainable, [&](const std::string& name) {
    return out.program->Find(name) == kNoValue;
  });
  out.trainable = std::move(trainable);
  return out;
}

bool Importer::IsTrained(const VarDesc& v) const {
  const bool said = std::ranges::any_of(
      vars_, [](const auto& var) { return var.second->parameter; });
  return v.persistable && !v.stop_gradient && v.dtype.has_value() &&
         IsFloating(*v.dtype) &&
         (said
              ? v.parameter
              : differentiated_.contains(v.name) || !changed_.contains(v.name));
}

WholeProgram Importer::RunWhole(const Autograd& autograd) {
  whole_ = true;
  autograd_ = &autograd;
  bool gradients = false;
  for (const BlockDesc& b : desc_.blocks) {
    for (const OpDesc& op : b.ops) {
      if (!IsGradient(op)) continue;
      gradients = true;
      for (const auto& [slot, out] : op.outputs) {
        for (const std::string& n : out) differentiated_.insert(WithoutGrad(n));
      }
    }
  }
  CheckBlocks();
  CheckKnown();
  const StaticModeScope recording(program_);
  // Without gradients of its own, the program leads those that come later.
  const InterpreterScope plain = InterpreterScope::Forbid(
      kProfile | kAutocast | (gradients ? kDifferentiate : 0));
  Scope scope;
  Inputs(scope);
  Block(0, scope);
  WholeProgram out;
  out.program = program_;
  out.warnings = NewerVersions();
  for (const auto& [name, t] : scope.values) {
    const VarDesc* v = Var(name);
    if (v == nullptr || v->persistable) continue;
    const ValueId id = SymbolOf(t).id();
    if (program_->value(id).name.empty()) program_->NameResult(id, name);
    out.results.emplace_back(name, gradients ? MakeSymbolic(program_, id) : t);
  }
  for (const auto& [name, t] : parameters_) {
    if (IsTrained(*Var(name))) out.trainable.push_back(name);
  }
  return out;
}

// Programs without feed ops say by their variables what is fed.
void Importer::Inputs(Scope& scope) {
  const auto& ops = desc_.blocks[0].ops;
  const bool feeds = std::ranges::any_of(
      ops, [](const OpDesc& op) { return op.type == "feed"; });
  if (feeds) return;
  for (const VarDesc& v : desc_.blocks[0].vars) {
    if (!v.need_check_feed || v.persistable) continue;
    OpDesc feed;
    feed.outputs = {{"Out", {v.name}}};
    feed.attributes["col"].value = static_cast<int64_t>(feeds_.size());
    Feed(feed, scope);
  }
}

void Importer::Block(int index, Scope& scope) {
  PROA_REQUIRE(++depth_ < kMaxDepth, "blocks lie in blocks too deep");
  const auto& ops = desc_.blocks[index].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    try {
      Op(ops[i], scope);
    } catch (const Error& e) {
      const std::string where =
          absl::StrCat("block ", index, ", op ", i, " ", Quoted(ops[i].type));
      e.ThrowAfter(absl::StrCat(where, ": "));
    }
  }
  --depth_;
}

void Importer::Op(const OpDesc& op, Scope& scope) {
  if (const auto at = Handlers().find(op.type); at != Handlers().end()) {
    return (this->*at->second)(op, scope);
  }
  if (HasGradientRule(op)) return Gradient(op, scope);
  ByRule(op, *book_.rules.at(op.type), scope);
}

// What an op finds in a variable. Where another op gives the gradient for it,
// that is a handle of its own, at which the gradient ends.
Tensor Importer::Argument(const std::string& slot, size_t i,
                          const std::string& name, Scope& scope) {
  const Tensor t = Find(name, scope);
  if (call_ == nullptr || !t.defined() || !differentiated_.contains(name) ||
      !IsFloating(t.dtype())) {
    return t;
  }
  const Tensor own = MakeSymbolic(program_, SymbolOf(t).id());
  autograd_->follow(own);
  call_->arguments[PlaceOf(slot, i)] = own;
  return own;
}

// The op of the gradients of an op: no rule says what it computes, but autograd
// from what the op made to what it took.
void Importer::Gradient(const OpDesc& op, Scope& scope) {
  std::shared_ptr<Call> call;
  TensorList results, grads;
  for (const auto& [slot, names] : op.inputs) {
    if (!slot.ends_with(kGrad)) continue;
    for (const std::string& name : names) {
      const Tensor grad = Find(name, scope);
      const auto at = calls_.find(WithoutGrad(name));
      if (!grad.defined() || at == calls_.end()) continue;
      if (at->second->type != ForwardOf(op)) continue;
      call = at->second;
      const Tensor& made = call->results.at(WithoutGrad(name));
      if ((made.flags() & kDifferentiate) == 0) continue;
      results.push_back(made);
      grads.push_back(grad);
    }
  }
  PROA_REQUIRE(call != nullptr, "there is no op ", Quoted(ForwardOf(op)),
               " before it whose gradients it could give");
  TensorList arguments;
  std::vector<std::string> wanted;
  for (const auto& [slot, names] : op.outputs) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty() || names[i] == "@EMPTY@") continue;
      PROA_REQUIRE(slot.ends_with(kGrad), "output ", slot, " is no gradient");
      const auto at = call->arguments.find(PlaceOf(WithoutGrad(slot), i));
      PROA_REQUIRE(at != call->arguments.end(), "there is no gradient for ",
                   Quoted(WithoutGrad(names[i])));
      arguments.push_back(at->second);
      wanted.push_back(names[i]);
    }
  }
  TensorList found(arguments.size());
  if (!results.empty()) {
    const InterpreterScope allowed = InterpreterScope::Allow(kDifferentiate);
    found = autograd_->gradients(results, arguments, grads);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!found[i].defined()) {
      found[i] =
          *CallOp(*FindOp("full_like"), {{"", arguments[i]}, {"", int64_t{0}}})
               .As<Tensor>();
    }
    Set(wanted[i], found[i], scope);
  }
}

void Importer::ByRule(const OpDesc& op, const Rule& rule, Scope& scope) {
  // The ops of gradients read what this one made.
  const bool followed = whole_ && !differentiated_.empty() && depth_ == 1;
  call_ = followed ? std::make_shared<Call>(Call{op.type, {}, {}}) : nullptr;
  const InterpreterScope mode = followed
                                    ? InterpreterScope::Allow(kDifferentiate)
                                    : InterpreterScope::Allow(0);
  const std::shared_ptr<Call> call = call_;
  RuleRun::Names names;
  for (const RuleParameter& p : rule.inputs) {
    const std::vector<std::string>* given = FindSlot(op.inputs, p.name);
    const size_t n = given == nullptr ? 0 : given->size();
    if (p.list) {
      RuleList list;
      for (size_t i = 0; i < n; ++i) {
        Tensor t = Argument(p.name, i, (*given)[i], scope);
        PROA_REQUIRE(t.defined(), "variable ", Quoted((*given)[i]),
                     " has no value");
        list.emplace_back(std::move(t));
      }
      names[p.name] = std::move(list);
    } else if (n == 0) {
      PROA_REQUIRE(p.optional, "input ", p.name, " is missing");
      names[p.name] = RuleValue();
    } else {
      PROA_REQUIRE(n == 1, "input ", p.name, " is ", n, " variables");
      // A missing one may be named @EMPTY@.
      Tensor t = Argument(p.name, 0, (*given)[0], scope);
      PROA_REQUIRE(t.defined() || p.optional, "variable ", Quoted((*given)[0]),
                   " has no value");
      if (t.defined()) {
        names[p.name] = std::move(t);
      } else {
        names[p.name] = RuleValue();
      }
    }
  }
  for (const auto& [slot, arguments] : op.inputs) {
    PROA_REQUIRE(
        arguments.empty() ||
            std::ranges::any_of(
                rule.inputs, [&](auto& p) { return SameSlot(p.name, slot); }),
        "input ", Quoted(slot), " is not known");
  }
  const auto output_variable = [&](const std::string& slot) -> const VarDesc* {
    const std::vector<std::string>* out = FindSlot(op.outputs, slot);
    return out == nullptr || out->empty() ? nullptr : Var((*out)[0]);
  };
  RuleRun run(
      book_, op.type,
      [&](std::string_view what, const std::string& slot) -> RuleValue {
        const std::vector<std::string>* out = FindSlot(op.outputs, slot);
        if (out == nullptr || out->empty()) return {};
        if (what == "before") {
          Tensor t = Find((*out)[0], scope);
          return t.defined() ? RuleValue(t) : RuleValue();
        }
        const VarDesc* v = output_variable(slot);
        if (v == nullptr) return {};
        if (what == "declared_type") {
          return v->dtype.has_value() ? RuleValue(*v->dtype) : RuleValue();
        }
        return RuleList(v->dims.begin(), v->dims.end());
      });
  for (const RuleParameter& p : rule.attributes) {
    const auto at = op.attributes.find(p.name);
    if (at != op.attributes.end()) {
      names[p.name] = AttributeValue(at->second);
    } else {
      PROA_REQUIRE(p.has_default, "attribute ", p.name, " is missing");
      Rule constant;
      constant.where = rule.where;
      constant.outputs.resize(1);
      constant.outputs[0].list = true;  // a list is one value
      constant.body.push_back({{}, p.default_value});
      names[p.name] = run.Run(constant, {})[0];
    }
  }
  names["version"] = VersionOf(op.type);
  const RuleList results = run.Run(rule, std::move(names));
  call_ = nullptr;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<std::string>* out =
        FindSlot(op.outputs, rule.outputs[i].name);
    if (out == nullptr || out->empty()) continue;
    if (const Tensor* t = results[i].As<Tensor>()) {
      PROA_REQUIRE(out->size() == 1, "output ", rule.outputs[i].name, " is ",
                   out->size(), " variables");
      Set((*out)[0], *t, scope);
    } else if (const RuleList* list = results[i].As<RuleList>()) {
      PROA_REQUIRE(list->size() == out->size(), "output ", rule.outputs[i].name,
                   " is ", out->size(), " variables, not ", list->size());
      for (size_t k = 0; k < list->size(); ++k) {
        Set((*out)[k], AsTensor((*list)[k], Tensor()), scope);
      }
    } else if (!results[i].is_none()) {
      Set((*out)[0], AsTensor(results[i], Tensor()), scope);
    }
    if (call == nullptr) continue;
    for (const std::string& name : *out) {
      const auto at = scope.values.find(name);
      if (at == scope.values.end()) continue;
      call->results[name] = at->second;
      calls_[name] = call;
    }
  }
}

Tensor Importer::Find(const std::string& name, Scope& scope) {
  if (const auto at = scope.values.find(name); at != scope.values.end()) {
    return at->second;
  }
  if (const auto at = scope.waiting.find(name); at != scope.waiting.end()) {
    // It is used whether or not the block ran: zeros if it did not.
    const auto waiting = at->second;
    const TensorList found = Cond(
        waiting->predicate,
        [&] { return Outputs(waiting->block, {name}, waiting->before); },
        [&] {
          const Tensor t = Placeholder(name);
          PROA_REQUIRE(t.defined(), "variable ", Quoted(name),
                       " may have no value");
          return TensorList{t};
        });
    scope.waiting.erase(name);
    scope.values[name] = found[0];
    return found[0];
  }
  const VarDesc* v = Var(name);
  if (v == nullptr || !v->persistable) return Tensor();
  if (const auto at = parameters_.find(name); at != parameters_.end()) {
    return at->second;
  }
  const Tensor t = parameter_(name);
  if (!t.defined()) return Tensor();
  const ValueId id = program_->Capture(t, name);
  // The tensor itself is what gradients that come later are asked of.
  const bool itself = whole_ && differentiated_.empty();
  if (itself && IsTrained(*v)) autograd_->follow(t);
  const Tensor held = itself ? t : MakeSymbolic(program_, id);
  parameters_[name] = held;
  return held;
}

Tensor Importer::Get(const std::string& name, Scope& scope) {
  Tensor t = Find(name, scope);
  PROA_REQUIRE(t.defined(), "variable ", Quoted(name), " has no value");
  return t;
}

void Importer::Set(const std::string& name, Tensor t, Scope& scope) {
  const VarDesc* v = Var(name);
  // Older releases had no 0-d tensors: where ours is 0-d and theirs is [1], it
  // is what comes after that counts.
  if (v != nullptr && v->kind == VarKind::kTensor && t.rank() == 0 &&
      v->dims == std::vector<int64_t>{1}) {
    t = *CallOp(*FindOp("reshape"), {{"", t}, {"", RuleList{int64_t{1}}}})
             .As<Tensor>();
  }
  if (!t.is_symbolic()) t = MakeSymbolic(program_, program_->Capture(t));
  scope.waiting.erase(name);
  if (whole_ && depth_ == 1 && v != nullptr && v->persistable &&
      v->kind == VarKind::kTensor) {
    // What comes after reads the value; the next run reads the tensor.
    Scope start;
    Tensor held = Get(name, start);
    if (!held.is_symbolic()) {
      held = MakeSymbolic(program_, program_->Capture(held));
    }
    const Tensor value = MakeSymbolic(program_, SymbolOf(t).id());
    CallOp(*FindOp("store_"), {{"", held}, {"", value}});
  }
  scope.values[name] = std::move(t);
}

void Importer::Feed(const OpDesc& op, Scope& scope) {
  const std::string& name = OneOf(op, op.outputs, "Out");
  const VarDesc* v = Var(name);
  PROA_REQUIRE(v != nullptr, "variable ", Quoted(name), " is not declared");
  PROA_REQUIRE(v->dtype.has_value(), "variable ", Quoted(name),
               " has elements of an unknown type");
  PROA_REQUIRE(v->dims.size() <= kMaxRank, "variable ", Quoted(name),
               " has too many dims");
  const auto column = op.attributes.find("col");
  const int64_t at = column == op.attributes.end()
                         ? static_cast<int64_t>(feeds_.size())
                         : AttributeValue(column->second).integer();
  PROA_REQUIRE(!feeds_.contains(at), "two inputs have number ", at);
  DimVector dims;
  for (int64_t d : v->dims) {
    PROA_REQUIRE(d >= -1, "variable ", Quoted(name), " has a size of ", d);
    dims.push_back(d < 0 ? kUnknownDim : d);
  }
  const Tensor t = AddInput(
      program_, name, Shape(std::span<const int64_t>(dims.data(), dims.size())),
      *v->dtype);
  feeds_[at] = SymbolOf(t).id();
  scope.values[name] = t;
}

void Importer::Fetch(const OpDesc& op, Scope& scope) {
  const std::string& name = OneOf(op, op.inputs, "X");
  const auto column = op.attributes.find("col");
  const int64_t at = column == op.attributes.end()
                         ? static_cast<int64_t>(fetches_.size())
                         : AttributeValue(column->second).integer();
  PROA_REQUIRE(depth_ == 1, "it must be in the first block");
  PROA_REQUIRE(!fetches_.contains(at), "two outputs have number ", at);
  fetches_[at] = {name, Get(name, scope)};
}

void Importer::Written(int index, std::set<std::string>& names,
                       int depth) const {
  PROA_REQUIRE(depth < kMaxDepth, "blocks lie in blocks too deep");
  for (const OpDesc& op : BlockAt(index).ops) {
    for (const auto& [slot, out] : op.outputs) {
      names.insert(out.begin(), out.end());
    }
    for (const auto& [name, a] : op.attributes) {
      if (a.kind == AttributeKind::kBlock) {
        Written(static_cast<int>(std::get<int64_t>(a.value)), names, depth + 1);
      }
    }
  }
}

Tensor Importer::Placeholder(const std::string& name) {
  const VarDesc* v = Var(name);
  if (v == nullptr || !v->dtype.has_value()) return Tensor();
  const bool array = v->kind == VarKind::kTensorArray;
  if (!array && v->kind != VarKind::kTensor) return Tensor();
  RuleList dims;
  if (array) dims.push_back(int64_t{0});
  for (int64_t d : v->dims) dims.push_back(std::max<int64_t>(d, 1));
  if (dims.size() > kMaxRank) return Tensor();
  return *CallOp(*FindOp("full"),
                 {{"", dims}, {"", int64_t{0}}, {"dtype", *v->dtype}})
              .As<Tensor>();
}

Tensor Importer::Truth(const Tensor& t) const {
  if (t.dtype() == DType::kBool) return t;
  return *CallOp(*FindOp("cast"), {{"", t}, {"", DType::kBool}}).As<Tensor>();
}

// What `names` hold after a block.
TensorList Importer::Outputs(int block, const std::vector<std::string>& names,
                             std::map<std::string, Tensor> values) {
  Scope scope;
  scope.values = std::move(values);
  BlockAt(block);
  Block(block, scope);
  TensorList out;
  for (const std::string& name : names) out.push_back(Get(name, scope));
  return out;
}

void Importer::Loop(const OpDesc& op, Scope& scope) {
  const int block = BlockOf(op);
  BlockAt(block);
  const std::string& condition = OneOf(op, op.inputs, "Condition");
  std::set<std::string> written;
  Written(block, written);
  PROA_REQUIRE(written.contains(condition), "its block never changes ",
               Quoted(condition));
  std::vector<std::string> names;
  TensorList vars;
  for (const std::string& name : written) {
    Tensor t = Find(name, scope);
    const VarDesc* v = Var(name);
    if (!t.defined() && v != nullptr && v->kind == VarKind::kTensorArray) {
      t = Placeholder(name);
    }
    if (!t.defined()) continue;  // of the block alone
    names.push_back(name);
    vars.push_back(t);
  }
  const auto at = std::ranges::find(names, condition);
  PROA_REQUIRE(at != names.end(), "variable ", Quoted(condition),
               " has no value");
  const size_t index = at - names.begin();
  // All that the block sees is made before the regions are recorded.
  const std::map<std::string, Tensor> outside = scope.values;
  const TensorList results =
      WhileLoop([&](const TensorList& now) { return Truth(now[index]); },
                [&](const TensorList& now) {
                  std::map<std::string, Tensor> values = outside;
                  for (size_t i = 0; i < names.size(); ++i)
                    values[names[i]] = now[i];
                  return Outputs(block, names, std::move(values));
                },
                vars);
  for (size_t i = 0; i < names.size(); ++i) {
    Set(names[i], results[i], scope);
  }
}

void Importer::Conditional(const OpDesc& op, Scope& scope) {
  const int block = BlockOf(op);
  BlockAt(block);
  const Tensor predicate = Truth(Get(OneOf(op, op.inputs, "Cond"), scope));
  std::set<std::string> written;
  Written(block, written);
  std::vector<std::string> names;
  TensorList before;
  auto waiting = std::make_shared<Scope::Waiting>();
  waiting->predicate = predicate;
  waiting->block = block;
  waiting->before = scope.values;
  for (const std::string& name : written) {
    const Tensor t = Find(name, scope);
    if (t.defined()) {
      names.push_back(name);
      before.push_back(t);
    } else {
      scope.waiting[name] = waiting;
    }
  }
  if (names.empty()) return;
  const TensorList results = Cond(
      predicate, [&] { return Outputs(block, names, waiting->before); },
      [&] { return before; });
  for (size_t i = 0; i < names.size(); ++i) {
    Set(names[i], results[i], scope);
  }
}

void Importer::Select(const OpDesc& op, Scope& scope) {
  const std::vector<std::string>* from = FindSlot(op.inputs, "X");
  PROA_REQUIRE(from != nullptr && from->size() == 2, "it must have two X");
  const Tensor mask = Truth(Get(OneOf(op, op.inputs, "Mask"), scope));
  const auto way = [&](int i) {
    return [&, i]() -> TensorList {
      const std::string& name = (*from)[i];
      const auto at = scope.waiting.find(name);
      if (at == scope.waiting.end()) return {Get(name, scope)};
      return Outputs(at->second->block, {name}, at->second->before);
    };
  };
  Set(OneOf(op, op.outputs, "Out"), Cond(mask, way(1), way(0))[0], scope);
}

}  // namespace

std::vector<std::string> PersistableNames(const ProgramDesc& desc) {
  std::set<std::string> names;
  for (const BlockDesc& b : desc.blocks) {
    for (const VarDesc& v : b.vars) {
      if (v.persistable && v.kind == VarKind::kTensor) names.insert(v.name);
    }
  }
  return {names.begin(), names.end()};
}

Module Import(const ProgramDesc& desc,
              const std::function<Tensor(const std::string&)>& parameter,
              const RuleBook& book) {
  return Importer(desc, parameter, book).Run();
}

WholeProgram ImportWhole(const ProgramDesc& desc, const Autograd& autograd,
                         const std::map<std::string, Tensor>& tensors,
                         const RuleBook& book) {
  const auto& ops = desc.blocks[0].ops;
  if (std::ranges::any_of(
          ops, [](auto& op) { return op.type.starts_with("fetch"); })) {
    return {};
  }
  const std::function<Tensor(const std::string&)> zeros =
      [&](const std::string& name) {
        for (const VarDesc& v : desc.blocks[0].vars) {
          if (v.name != name || v.kind != VarKind::kTensor) continue;
          PROA_REQUIRE(v.dtype.has_value(), "variable ", Quoted(name),
                       " has elements of an unknown type");
          PROA_REQUIRE(v.dims.size() <= kMaxRank, "variable ", Quoted(name),
                       " has too many dims");
          RuleList dims;
          for (int64_t d : v.dims) {
            PROA_REQUIRE(d >= 0, "variable ", Quoted(name),
                         " is kept but has an open size");
            dims.emplace_back(d);
          }
          const auto known = tensors.find(name);
          if (known != tensors.end() && known->second.dtype() == *v.dtype &&
              std::ranges::equal(known->second.shape().dims(), v.dims)) {
            return known->second;
          }
          const StaticModeScope now(nullptr);
          return *CallOp(*FindOp("full"),
                         {{"", dims}, {"", int64_t{0}}, {"dtype", *v.dtype}})
                      .As<Tensor>();
        }
        return Tensor();
      };
  return Importer(desc, zeros, book).RunWhole(autograd);
}

std::vector<std::string> KnownTypes() {
  std::set<std::string> out;
  for (const auto& [type, handler] : Importer::Handlers()) out.insert(type);
  for (const auto& [type, rule] : AllRules().rules) out.insert(type);
  return {out.begin(), out.end()};
}

std::map<std::string, int64_t> KnownVersions() { return AllRules().versions; }

}  // namespace proa::inline v0::jit::reference
