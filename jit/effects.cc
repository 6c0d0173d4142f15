#include "jit/effects.h"

#include <string_view>
#include <variant>

namespace proa::inline v0::jit {
namespace {

// Of a view, the value that it is a view of; kNoValue for other results.
ValueId Viewed(const Operation& o, size_t output) {
  const bool inplace = (o.op->traits & kTraitInplace) != 0;
  const int at = inplace ? 0 : o.op->outputs[output].aliases;
  if (at < 0) return kNoValue;
  const auto* ref = std::get_if<ValueRef>(&o.args[at]);
  return ref == nullptr ? kNoValue : ref->id;
}

}  // namespace

bool ChangesTensors(const Operation& o) {
  bool changes = false;
  ForEachChanged(o, [&](ValueId) { changes = true; });
  return changes;
}

bool TakesTurn(const Operation& o) {
  for (size_t i = 0; i < o.op->params.size() && (o.op->changes >> i) != 0;
       ++i) {
    if ((o.op->changes >> i & 1) != 0 &&
        std::string_view(o.op->params[i].name) == "turn") {
      return true;
    }
  }
  return false;
}

bool IsExchange(const Operation& o) {
  return !o.op->outputs.empty() && TakesTurn(o);
}

bool ReachesOut(const Operation& o) {
  if (o.op->outputs.empty() && TakesTurn(o)) return true;
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) {
      if (ReachesOut(inner)) return true;
    }
  }
  return false;
}

Effects::Effects(const Program& program)
    : memory_(program.values().size(), kAnything) {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const ValueInfo& v = program.values()[i];
    if (v.kind == ValueKind::kInput) memory_[i] = next_++;
    if (v.kind == ValueKind::kCaptured) {
      const auto [at, is_new] =
          storages_.emplace(v.captured.storage().get(), next_);
      if (is_new) ++next_;
      memory_[i] = at->second;
    }
  }
  outer_.assign(next_, true);
  Visit(program.block());
  outer_.resize(next_, false);
  changed_.assign(next_, false);
  const auto note = [&](const Operation& o) {
    ForEachChanged(o, [&](ValueId id) { changed_[memory_[id]] = true; });
  };
  for (const Operation& o : program.block().operations) note(o);
}

void Effects::Visit(const Block& block) {
  for (const Operation& o : block.operations) {
    for (const auto& region : o.regions) Visit(*region);
    for (size_t i = 0; i < o.results.size(); ++i) {
      const ValueId viewed = Viewed(o, i);
      for (ValueId id : o.results[i]) {
        if (viewed != kNoValue) {
          memory_[id] = memory_[viewed];
        } else if (o.regions.empty()) {
          memory_[id] = next_++;
        }
      }
    }
  }
}

bool Effects::is_changed(ValueId id) const {
  const int memory = memory_of(id);
  if (memory != kAnything) return changed_[memory] || changed_[kAnything];
  for (const bool changed : changed_) {
    if (changed) return true;
  }
  return false;
}

bool Effects::may_stand_for(ValueId value, ValueId copy,
                            const Uses& uses) const {
  if (is_changed(value)) return false;
  const int memory = memory_of(value);
  if (memory != kAnything && !outer_[memory]) return true;
  for (const Use& u : uses.of(copy)) {
    if (u.operation == nullptr || !u.operation->regions.empty() ||
        (u.operation->op->traits & (kTraitView | kTraitInplace)) != 0) {
      return false;
    }
  }
  return true;
}

bool Effects::changes(const Operation& o, ValueId id) const {
  bool found = false;
  ForEachChanged(
      o, [&](ValueId c) { found |= Overlap(memory_of(c), memory_of(id)); });
  return found;
}

bool Effects::depends(const Operation& o, const Operation& writer) const {
  bool found = false;
  ForEachResult(writer, [&](ValueId made) {
    ForEachUse(o, [&](ValueId used) { found |= made == used; });
  });
  ForEachUse(o, [&](ValueId id) { found |= changes(writer, id); });
  ForEachUse(writer, [&](ValueId id) { found |= changes(o, id); });
  return found;
}

}  // namespace proa::inline v0::jit
