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
  // The rows of all items, which are none.
  const size_t first = array && uneven_ ? 1 : 0;
  for (size_t i = first; i < v->dims.size(); ++i) {
    dims.emplace_back(std::max<int64_t>(v->dims[i], 1));
  }
  if (dims.size() > kMaxRank) return Tensor();
  return *CallOp(*FindOp("full"),
                 {{"", dims}, {"", int64_t{0}}, {"dtype", *v->dtype}})
              .As<Tensor>();
}

Tensor Importer::Truth(const Tensor& t) const {
  if (t.dtype() == DType::kBool) return t;
  return *CallOp(*FindOp("cast"), {{"", t}, {"", DType::kBool}}).As<Tensor>();
}

// Whether a block runs: where its condition is no truth value, a mask of rows
// that IfElse writes, it does if there are rows.
Tensor Importer::Predicate(const OpDesc& op, Scope& scope) {
  const Tensor condition = Get(OneOf(op, op.inputs, "Cond"), scope);
  const auto at = op.attributes.find("is_scalar_condition");
  const bool* scalar = at == op.attributes.end()
                           ? nullptr
                           : std::get_if<bool>(&at->second.value);
  if (scalar == nullptr || *scalar) return Truth(condition);
  const Tensor count =
      *CallOp(*FindOp("numel"), {{"", condition}}).As<Tensor>();
  return *CallOp(*FindOp("greater_than"),
                 {{"", count}, {"", AsTensor(int64_t{0}, count)}})
              .As<Tensor>();
}

TensorList Importer::Outputs(int block, const std::vector<std::string>& names,
                             Scope seen) {
  BlockAt(block);
  Block(block, seen);
  TensorList out;
  for (const std::string& name : names) out.push_back(Get(name, seen));
  return out;
}

Importer::Carried Importer::Carry(const std::set<std::string>& written,
                                  Scope& seen,
                                  const std::set<std::string>& without) {
  Carried out;
  for (const std::string& name : written) {
    const Tensor t = Find(name, seen);
    if (!t.defined()) continue;
    out.names.push_back(name);
    out.values.push_back(t);
  }
  const bool all = uneven_ || !IsFollowed();
  for (const std::string& name : out.names) {
    if (!all || without.contains(name)) continue;
    std::vector<std::string> with = Companions(name, seen);
    if (!with.empty()) out.companions[name] = std::move(with);
  }
  for (const auto& [name, with] : out.companions) {
    for (const std::string& w : with) {
      out.names.push_back(w);
      out.values.push_back(seen.values.at(w));
    }
  }
  return out;
}

TensorList Importer::Outputs(int block, Carried& carried, Scope seen) {
  const size_t count = carried.names.size();
  Block(block, seen);
  std::set<std::string> others;  // of variables that are lost
  for (const auto& [name, with] : carried.companions) {
    if (Companions(name, seen) == with) continue;
    carried.lost.insert(name);
    others.insert(with.begin(), with.end());
  }
  TensorList out;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = carried.names[i];
    out.push_back(others.contains(name) ? carried.values[i] : Get(name, seen));
  }
  return out;
}

void Importer::SetCarried(const Carried& carried, const TensorList& results,
                          Scope& scope) {
  std::set<std::string> with;
  for (const auto& [name, all] : carried.companions) {
    with.insert(all.begin(), all.end());
  }
  for (size_t i = 0; i < carried.names.size(); ++i) {
    const std::string& name = carried.names[i];
    if (with.contains(name)) {
      scope.values[name] = results[i];
    } else {
      Set(name, results[i], scope);
    }
  }
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
  Scope outside = Seen(op, "X", scope);
  call_ = nullptr;
  const InterpreterScope mode =
      InterpreterScope::Allow(call != nullptr ? kDifferentiate : 0);
  for (const std::string& name : written) {
    if (outside.values.contains(name)) continue;
    const VarDesc* v = Var(name);
    if (const Tensor t = Find(name, scope); t.defined()) {
      outside.values[name] = t;
    } else if (v != nullptr && v->kind == VarKind::kTensorArray) {
      StartArray(name, outside);
    }
  }
  Carried carried;
  TensorList results;
  std::set<std::string> without;
  do {
    without.insert(carried.lost.begin(), carried.lost.end());
    carried = Carry(written, outside, without);
    const auto at = std::ranges::find(carried.names, condition);
    PROA_REQUIRE(at != carried.names.end(), "variable ", Quoted(condition),
                 " has no value");
    const size_t index = at - carried.names.begin();
    results =
        WhileLoop([&](const TensorList& now) { return Truth(now[index]); },
                  [&](const TensorList& now) {
                    Scope seen = outside;
                    for (size_t i = 0; i < now.size(); ++i) {
                      seen.values[carried.names[i]] = now[i];
                    }
                    return Outputs(block, carried, std::move(seen));
                  },
                  carried.values);
  } while (!carried.lost.empty());
  SetCarried(carried, results, scope);
  if (call == nullptr) return;
  for (size_t i = 0; i < carried.names.size(); ++i) {
    call->before[carried.names[i]] = carried.values[i];
  }
  NoteResults(op, "Out", call, scope);
}

// An op of gradients asks for those of what the block gives, whatever it is
// chosen against: where it did not run, that is what stood there, or zeros.
void Importer::ConditionalWithGradients(const OpDesc& op, Scope& scope) {
  const int block = BlockOf(op);
  const Tensor predicate = Predicate(op, scope);
  const std::vector<std::string>* names = FindSlot(op.outputs, "Out");
  if (names == nullptr || names->empty()) return;
  const auto call = std::make_shared<Call>(Call{op.type, {}, {}});
  call_ = call;
  const Scope seen = Seen(op, "Input", scope);
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
  const Tensor predicate = Predicate(op, scope);
  std::set<std::string> written;
  Written(block, written);
  auto before = std::make_shared<Scope>();
  before->values = scope.values;
  before->fed = scope.fed;
  const auto waiting = std::make_shared<Scope::Waiting>(
      Scope::Waiting{predicate, block, before});
  for (const std::string& name : written) {
    const Tensor t = Find(name, scope);
    if (t.defined()) {
      before->values[name] = t;
    } else {
      scope.waiting[name] = waiting;
    }
  }
  Carried carried;
  TensorList results;
  std::set<std::string> without;
  do {
    without.insert(carried.lost.begin(), carried.lost.end());
    carried = Carry(written, *before, without);
    if (carried.names.empty()) return;
    results = Cond(
        predicate, [&] { return Outputs(block, carried, *before); },
        [&] { return carried.values; });
  } while (!carried.lost.empty());
  SetCarried(carried, results, scope);
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
      return Outputs(at->second->block, {name}, *at->second->before);
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
