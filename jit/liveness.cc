#include "jit/liveness.h"

namespace proa::inline v0::jit {
namespace {

// One pass from the end. `read`: by value, what Changes::kRead keeps changes
// of.
Liveness Pass(const Program& program, const std::vector<ValueId>& fetches,
              Changes changes, const std::vector<bool>& read) {
  const Block& block = program.block();
  Liveness out;
  out.live.assign(program.values().size(), false);
  out.skip.assign(block.operations.size(), false);
  out.last_use.resize(block.operations.size());
  for (ValueId id : fetches) out.live[id] = true;
  for (size_t i = block.operations.size(); i-- > 0;) {
    const Operation& o = block.operations[i];
    bool needed = false;
    if (changes != Changes::kNone && ChangesTensors(o)) {
      needed = changes == Changes::kAll;
      ForEachChanged(o, [&](ValueId id) {
        needed |= changes == Changes::kRead && read[id];
      });
    }
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

}  // namespace

Liveness Analyze(const Program& program, const std::vector<ValueId>& fetches,
                 Changes changes) {
  std::vector<bool> read(program.values().size(), false);
  while (true) {
    Liveness out = Pass(program, fetches, changes, read);
    if (changes != Changes::kRead) return out;
    // What is kept may read further tensors that are changed.
    bool settled = true;
    for (size_t i = 0; i < read.size(); ++i) {
      const bool now =
          out.live[i] && program.values()[i].kind == ValueKind::kCaptured;
      settled &= now == read[i];
      read[i] = now;
    }
    if (settled) return out;
  }
}

}  // namespace proa::inline v0::jit
