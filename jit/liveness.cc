#include "jit/liveness.h"

namespace proa::inline v0::jit {
namespace {

// Does an operation use results that are all among `made`?
bool UsesMade(const Program& program, const Operation& o,
              const std::vector<bool>& made) {
  bool any = false, all = true;
  ForEachUse(o, [&](ValueId id) {
    if (program.value(id).kind != ValueKind::kResult) return;
    any = true;
    all &= made[id];
  });
  return any && all;
}

// One pass from the end. `read`: by value, what Changes::kRead keeps changes
// of, and what kMade keeps changes by. `speaks`: by operation, whether it is
// needed for what it does besides.
Liveness Pass(const Program& program, const std::vector<ValueId>& fetches,
              Changes changes, const std::vector<bool>& read,
              const std::vector<bool>& speaks) {
  const Block& block = program.block();
  Liveness out;
  out.live.assign(program.values().size(), false);
  out.skip.assign(block.operations.size(), false);
  out.last_use.resize(block.operations.size());
  for (ValueId id : fetches) out.live[id] = true;
  for (size_t i = block.operations.size(); i-- > 0;) {
    const Operation& o = block.operations[i];
    bool needed = speaks[i];
    if (changes != Changes::kNone && ChangesTensors(o)) {
      needed |= changes == Changes::kAll;
      const bool may_be_read = changes == Changes::kRead && !ReachesOut(o);
      ForEachChanged(o, [&](ValueId id) { needed |= may_be_read && read[id]; });
      needed |= changes == Changes::kMade && UsesMade(program, o, read);
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

// Which operations reach out of the program, and depend on no input that is
// neither live nor given.
std::vector<bool> Speaking(const Program& program,
                           const std::vector<bool>& live,
                           const std::vector<ValueId>& given) {
  const auto& operations = program.block().operations;
  std::vector<bool> speaks(operations.size(), false);
  std::vector<bool> missing(program.values().size(), false);
  for (size_t i = 0; i < missing.size(); ++i) {
    missing[i] = program.values()[i].kind == ValueKind::kInput && !live[i];
  }
  for (ValueId id : given) missing[id] = false;
  for (size_t i = 0; i < operations.size(); ++i) {
    bool without = false;
    ForEachUse(operations[i], [&](ValueId id) { without |= missing[id]; });
    ForEachResult(operations[i], [&](ValueId id) { missing[id] = without; });
    speaks[i] = !without && ReachesOut(operations[i]);
  }
  return speaks;
}

}  // namespace

Liveness Analyze(const Program& program, const std::vector<ValueId>& fetches,
                 Changes changes, const std::vector<ValueId>& given) {
  std::vector<bool> read(program.values().size(), false);
  std::vector<bool> speaks(program.block().operations.size(), false);
  if (changes != Changes::kAll) {
    bool any = false;
    for (const Operation& o : program.block().operations) any |= ReachesOut(o);
    if (any) {
      const Liveness silent = Pass(program, fetches, changes, read, speaks);
      speaks = Speaking(program, silent.live, given);
    }
  }
  if (changes == Changes::kMade) {
    read = Pass(program, fetches, Changes::kNone, read, speaks).live;
  }
  while (true) {
    Liveness out = Pass(program, fetches, changes, read, speaks);
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
