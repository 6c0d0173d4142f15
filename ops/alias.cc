#include "ops/alias.h"

#include <algorithm>

namespace proa::inline v0::ops {

// Generated: alias_table.cc.
extern const OpAlias kAliases[];
extern const int kNumAliases;

std::span<const OpAlias> AllAliases() {
  return {kAliases, static_cast<size_t>(kNumAliases)};
}

const OpDefinition* FindOpByAnyName(std::string_view name) {
  if (const OpDefinition* op = FindOp(name)) return op;
  const auto all = AllAliases();
  const auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const OpAlias& a, std::string_view b) { return a.name < b; });
  return at != all.end() && at->name == name ? FindOp(at->op) : nullptr;
}

}  // namespace proa::inline v0::ops
