// Names that the reference gives to ops (`aliases` of their schemas), beside
// the ops' own: where a user names an op, either will do.
//
//   FindOpByAnyName("matmul_v2")->name;  // "matmul"
#ifndef PROA_OPS_ALIAS_H_
#define PROA_OPS_ALIAS_H_

#include <span>
#include <string_view>

#include "ops/definition.h"

namespace proa::inline v0::ops {

struct OpAlias {
  const char* name;
  const char* op;
};

// The op of that name or alias; null if there is none (or if the op is not
// linked in).
const OpDefinition* FindOpByAnyName(std::string_view name);
// Every alias, sorted by name.
std::span<const OpAlias> AllAliases();

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_ALIAS_H_
