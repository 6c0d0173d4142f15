// Sequences (lod_level) and arrays whose items differ in their rows: what goes
// with a variable, as values of names of their own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/recorder.h"
#include "jit/reference/importer.h"
#include "jit/reference/rule_run.h"
#include "jit/reference/rule_value.h"

namespace proa::inline v0::jit::reference::importing {

namespace {

// As proa.static.sequences names them.
std::string LengthsName(const std::string& name, size_t level) {
  return absl::StrCat(name, "@LENGTHS", level);
}

// Of an array: how many rows, or lengths, each item has.
std::string CountsName(const std::string& name) {
  return absl::StrCat(name, "@COUNTS");
}

size_t NumberOfLevels(const std::string& name, const Scope& scope) {
  size_t n = 0;
  while (scope.values.contains(LengthsName(name, n))) ++n;
  return n;
}

Tensor NoNumbers() {
  return *CallOp(*FindOp("full"), {{"", RuleList{int64_t{0}}},
                                   {"", int64_t{0}},
                                   {"dtype", DType::kInt64}})
              .As<Tensor>();
}

}  // namespace

// In a search each step has other rows: as many as were chosen.
bool Importer::HoldsUnevenArrays() const {
  for (const BlockDesc& b : desc_.blocks) {
    for (const OpDesc& op : b.ops) {
      if (book_.uneven.contains(op.type)) return true;
    }
  }
  return false;
}

TensorList Importer::LevelsOf(const std::string& name, const Scope& scope) {
  TensorList out;
  for (size_t k = 0; k < NumberOfLevels(name, scope); ++k) {
    out.push_back(scope.values.at(LengthsName(name, k)));
  }
  const auto fed = scope.fed.find(name);
  if (!out.empty() || fed == scope.fed.end()) return out;
  std::vector<ValueId>& ids = lengths_[fed->second];
  if (ids.empty()) {
    for (int level = 0; level < Var(fed->second)->lod_level; ++level) {
      const Tensor t = AddInput(program_, LengthsName(fed->second, level),
                                Shape{kUnknownDim}, DType::kInt64);
      ids.push_back(SymbolOf(t).id());
    }
  }
  for (const ValueId id : ids) out.push_back(MakeSymbolic(program_, id));
  return out;
}

void Importer::SetLevels(const std::string& name, const TensorList& levels,
                         Scope& scope) {
  Forget(name, scope);
  for (size_t k = 0; k < levels.size(); ++k) {
    scope.values[LengthsName(name, k)] = levels[k];
  }
}

RuleValue Importer::ItemsOf(const std::string& name, const Scope& scope) const {
  if (!uneven_) return {};
  RuleList out;
  const auto add = [&](const std::string& part) {
    const auto values = scope.values.find(part);
    const auto counts = scope.values.find(CountsName(part));
    if (values == scope.values.end() || counts == scope.values.end()) return;
    out.emplace_back(values->second);
    out.emplace_back(counts->second);
  };
  add(name);
  for (size_t k = 0; k < NumberOfLevels(name, scope); ++k) {
    add(LengthsName(name, k));
  }
  return out;
}

void Importer::SetItems(const std::string& name, const TensorList& items,
                        Scope& scope) {
  PROA_REQUIRE(items.size() % 2 == 1, "an array of items has no counts");
  scope.values[CountsName(name)] = items[0];
  for (size_t k = 0; 2 * k + 2 < items.size(); ++k) {
    const std::string lengths = LengthsName(name, k);
    scope.values[lengths] = items[2 * k + 1];
    scope.values[CountsName(lengths)] = items[2 * k + 2];
  }
}

void Importer::StartArray(const std::string& name, Scope& scope) {
  const Tensor t = Placeholder(name);
  if (!t.defined()) return;
  scope.values[name] = t;
  if (!uneven_) return;
  // Its items will have the sequences of what is written into it.
  int levels = 0;
  for (const BlockDesc& b : desc_.blocks) {
    for (const OpDesc& op : b.ops) {
      const std::vector<std::string>* out = FindSlot(op.outputs, "Out");
      const std::vector<std::string>* in = FindSlot(op.inputs, "X");
      if (out == nullptr || in == nullptr || in->size() != 1 ||
          std::ranges::find(*out, name) == out->end()) {
        continue;
      }
      const VarDesc* v = Var((*in)[0]);
      if (v != nullptr && v->kind == VarKind::kTensor) {
        levels = std::max(levels, v->lod_level);
      }
    }
  }
  TensorList items = {NoNumbers()};
  for (int k = 0; k < 2 * levels; ++k) items.push_back(NoNumbers());
  SetItems(name, items, scope);
}

std::vector<std::string> Importer::Companions(const std::string& name,
                                              Scope& scope) {
  if (const auto fed = scope.fed.find(name);
      fed != scope.fed.end() && (uneven_ || lengths_.contains(fed->second))) {
    SetLevels(name, LevelsOf(name, scope), scope);
  }
  std::vector<std::string> out;
  const auto add = [&](const std::string& companion) {
    if (scope.values.contains(companion)) out.push_back(companion);
  };
  add(CountsName(name));
  for (size_t k = 0; k < NumberOfLevels(name, scope); ++k) {
    add(LengthsName(name, k));
    add(CountsName(LengthsName(name, k)));
  }
  return out;
}

void Importer::Forget(const std::string& name, Scope& scope) {
  scope.fed.erase(name);
  scope.values.erase(CountsName(name));
  for (size_t k = NumberOfLevels(name, scope); k > 0; --k) {
    scope.values.erase(LengthsName(name, k - 1));
    scope.values.erase(CountsName(LengthsName(name, k - 1)));
  }
}

void Importer::NoteSequences(const OpDesc& op, const Said& said, Scope& scope) {
  const auto record = [&](const TensorList& tensors) {
    TensorList out;
    for (const Tensor& t : tensors) {
      out.push_back(
          t.is_symbolic() ? t : MakeSymbolic(program_, program_->Capture(t)));
    }
    return out;
  };
  for (const auto& [slot, outputs] : op.outputs) {
    for (const std::string& name : outputs) {
      if (const auto at = said.items.find(name); at != said.items.end()) {
        SetItems(name, record(at->second), scope);
        continue;
      }
      if (const auto at = said.levels.find(name); at != said.levels.end()) {
        SetLevels(name, record(at->second), scope);
        continue;
      }
      const VarDesc* v = Var(name);
      if (v == nullptr || v->lod_level == 0) continue;
      for (const auto& [from, inputs] : op.inputs) {
        const auto has = std::ranges::find_if(inputs, [&](const auto& input) {
          const VarDesc* i = Var(input);
          const bool array = i != nullptr && i->kind == VarKind::kTensorArray;
          return input != name && !(array && uneven_) &&
                 (scope.fed.contains(input) ||
                  NumberOfLevels(input, scope) > 0);
        });
        if (has == inputs.end()) continue;
        if (const auto fed = scope.fed.find(*has); fed != scope.fed.end()) {
          scope.fed[name] = fed->second;
        } else {
          SetLevels(name, LevelsOf(*has, scope), scope);
        }
        break;
      }
    }
  }
}

// Lengths of sequences that something asked for are inputs and outputs beside
// the others.
void Importer::AddLengths(Module& module, const Scope& scope) {
  int place = 0;
  for (const auto& [column, out] : fetches_) {
    const bool known = !scope.fed.contains(out.first) || !lengths_.empty();
    int level = 0;
    for (const Tensor& t : known ? LevelsOf(out.first, scope) : TensorList()) {
      module.outputs.push_back(SymbolOf(t).id());
      module.output_names.push_back(
          absl::StrCat("fetch_", place, "@LENGTHS", level++));
    }
    ++place;
  }
  for (const auto& [column, id] : feeds_) {
    const auto at = lengths_.find(program_->value(id).name);
    if (at == lengths_.end()) continue;
    module.inputs.insert(module.inputs.end(), at->second.begin(),
                         at->second.end());
  }
}

}  // namespace proa::inline v0::jit::reference::importing
