// Blocks, ops by their rules, and what variables hold.
#include "jit/reference/importer.h"

#include <algorithm>

#include "jit/control_flow.h"
#include "jit/prune.h"
#include "jit/recorder.h"
#include "jit/reference/rule_run.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit::reference::importing {

namespace {

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

}  // namespace

const std::vector<std::string>* FindSlot(const Slots& slots,
                                         const std::string& name) {
  for (const auto& [slot, arguments] : slots) {
    if (SameSlot(slot, name)) return &arguments;
  }
  return nullptr;
}

const std::string& OneOf(const OpDesc& op, const Slots& slots,
                         const std::string& name) {
  const std::vector<std::string>* s = FindSlot(slots, name);
  PROA_REQUIRE(s != nullptr && s->size() == 1, "it must have one ", name);
  return (*s)[0];
}

Module Importer::Run(Changes changes) {
  stores_ = changes != Changes::kNone;
  CheckBlocks();
  CheckKnown();
  uneven_ = HoldsUnevenArrays();
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
  AddLengths(module, scope);
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
  Module out = Prune(module, changes);
  std::erase_if(trainable, [&](const std::string& name) {
    return out.program->Find(name) == kNoValue;
  });
  out.trainable = std::move(trainable);
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

void Importer::ByRule(const OpDesc& op, const Rule& rule, Scope& scope) {
  // The ops of gradients read what this one made.
  const bool followed = IsFollowed();
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
  Said said;
  RuleRun run(
      book_, op.type,
      [&](std::string_view what, const std::string& slot) -> RuleValue {
        if (what == "levels") {
          RuleList all;
          const std::vector<std::string>* in = FindSlot(op.inputs, slot);
          for (size_t i = 0; in != nullptr && i < in->size(); ++i) {
            const TensorList levels = LevelsOf((*in)[i], scope);
            all.emplace_back(RuleList(levels.begin(), levels.end()));
          }
          return all;
        }
        const std::vector<std::string>* out = FindSlot(op.outputs, slot);
        if (what == "items") {
          const auto* named = out != nullptr ? out : FindSlot(op.inputs, slot);
          if (named == nullptr || named->empty()) return {};
          return ItemsOf((*named)[0], scope);
        }
        if (out == nullptr || out->empty()) return {};
        if (what == "before") {
          Tensor t = Find((*out)[0], scope);
          if (!t.defined()) t = StartOfGradient((*out)[0], scope);
          return t.defined() ? RuleValue(t) : RuleValue();
        }
        const VarDesc* v = output_variable(slot);
        if (v == nullptr) return {};
        if (what == "declared_type") {
          return v->dtype.has_value() ? RuleValue(*v->dtype) : RuleValue();
        }
        return RuleList(v->dims.begin(), v->dims.end());
      },
      [&](std::string_view what, const std::string& slot,
          const RuleList& tensors, size_t i) {
        const std::vector<std::string>* out = FindSlot(op.outputs, slot);
        if (out == nullptr || i >= out->size()) return;
        auto& all = what == "items" ? said.items : said.levels;
        TensorList& noted = all[(*out)[i]];
        for (const RuleValue& v : tensors)
          noted.push_back(AsTensor(v, Tensor()));
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
    if (call != nullptr) {
      NoteResults(op, rule.outputs[i].name.c_str(), call, scope);
    }
  }
  NoteSequences(op, said, scope);
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
        [&] { return Outputs(waiting->block, {name}, *waiting->before); },
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
  Forget(name, scope);
  if (stores_ && depth_ == 1 && v != nullptr && v->persistable &&
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
  if (v->lod_level > 0) {
    constexpr int kMostLevels = 8;
    PROA_REQUIRE(v->lod_level <= kMostLevels, "variable ", Quoted(name),
                 " has ", v->lod_level, " levels of sequences");
    scope.fed[name] = name;
  }
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

}  // namespace proa::inline v0::jit::reference::importing
