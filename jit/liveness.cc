#include "jit/liveness.h"

namespace proa::inline v0::jit {

bool ChangesTensors(const Operation& o) {
  if (o.op != nullptr && (o.op->traits & kTraitInplace) != 0) return true;
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) {
      if (ChangesTensors(inner)) return true;
    }
  }
  return false;
}

Liveness Analyze(const Program& program, const std::vector<ValueId>& fetches,
                 bool keep_changes) {
  const Block& block = program.block();
  Liveness out;
  out.live.assign(program.values().size(), false);
  out.skip.assign(block.operations.size(), false);
  out.last_use.resize(block.operations.size());
  for (ValueId id : fetches) out.live[id] = true;
  for (size_t i = block.operations.size(); i-- > 0;) {
    const Operation& o = block.operations[i];
    bool needed = keep_changes && ChangesTensors(o);
    for (const auto& ids : o.results) {
      for (ValueId id : ids) needed |= out.live[id];
    }
    out.skip[i] = !needed;
    if (!needed) continue;
    // Seen first from the end: the last use (or a result that nobody uses).
    const auto use = [&](ValueId id) {
      if (out.live[id]) return;
      out.live[id] = true;
      if (program.value(id).kind != ValueKind::kCaptured) {
        out.last_use[i].push_back(id);
      }
    };
    for (const auto& ids : o.results) {
      for (ValueId id : ids) use(id);
    }
    ForEachUse(o, use);
  }
  return out;
}

}  // namespace proa::inline v0::jit
