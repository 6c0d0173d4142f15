// Blocks that run on a condition, or again and again, as regions.
#include <algorithm>

#include "jit/control_flow.h"
#include "jit/recorder.h"
#include "jit/reference/importer.h"
#include "jit/reference/rule_run.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit::reference::importing {

int BlockOf(const OpDesc& op) {
  const auto at = op.attributes.find("sub_block");
  PROA_REQUIRE(
      at != op.attributes.end() && at->second.kind == AttributeKind::kBlock,
      "it has no block");
  return static_cast<int>(std::get<int64_t>(at->second.value));
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
  const auto call =
      IsFollowed() ? std::make_shared<Call>(Call{op.type, {}, {}}) : nullptr;
  call_ = call;
  // All that the block sees is made before the regions are recorded.
  const std::map<std::string, Tensor> outside = Seen(op, "X", scope);
  call_ = nullptr;
  const InterpreterScope mode =
      InterpreterScope::Allow(call != nullptr ? kDifferentiate : 0);
  std::vector<std::string> names;
  TensorList vars;
  for (const std::string& name : written) {
    const auto seen = outside.find(name);
    Tensor t = seen != outside.end() ? seen->second : Find(name, scope);
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
    if (call != nullptr) call->before[names[i]] = vars[i];
  }
  if (call != nullptr) NoteResults(op, "Out", call, scope);
}

// An op of gradients asks for those of what the block gives, whatever it is
// chosen against: where it did not run, that is what stood there, or zeros.
void Importer::ConditionalWithGradients(const OpDesc& op, Scope& scope) {
  const int block = BlockOf(op);
  const Tensor predicate = Truth(Get(OneOf(op, op.inputs, "Cond"), scope));
  const std::vector<std::string>* names = FindSlot(op.outputs, "Out");
  if (names == nullptr || names->empty()) return;
  const auto call = std::make_shared<Call>(Call{op.type, {}, {}});
  call_ = call;
  const std::map<std::string, Tensor> seen = Seen(op, "Input", scope);
  call_ = nullptr;
  const InterpreterScope mode = InterpreterScope::Allow(kDifferentiate);
  TensorList before;
  for (const std::string& name : *names) {
    Tensor t = Find(name, scope);
    before.push_back(t.defined() ? t : Placeholder(name));
    PROA_REQUIRE(before.back().defined(), "variable ", Quoted(name),
                 " may have no value");
  }
  const TensorList results = Cond(
      predicate, [&] { return Outputs(block, *names, seen); },
      [&] { return before; });
  for (size_t i = 0; i < names->size(); ++i) {
    Set((*names)[i], results[i], scope);
  }
  NoteResults(op, "Out", call, scope);
}

void Importer::Conditional(const OpDesc& op, Scope& scope) {
  if (IsFollowed()) return ConditionalWithGradients(op, scope);
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

// The gradient of what was selected is that of both: the block that did not run
// gives none to what it took.
void Importer::SelectGradient(const OpDesc& op, Scope& scope) {
  const Tensor grad = Get(OneOf(op, op.inputs, "X"), scope);
  const std::vector<std::string>* names = FindSlot(op.outputs, "Out");
  for (size_t i = 0; names != nullptr && i < names->size(); ++i) {
    if (!(*names)[i].empty() && (*names)[i] != "@EMPTY@") {
      Set((*names)[i], MakeSymbolic(program_, SymbolOf(grad).id()), scope);
    }
  }
}

}  // namespace proa::inline v0::jit::reference::importing
