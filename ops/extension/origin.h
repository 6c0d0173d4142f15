// Which extension brought an op, for files: a program says so of each op that
// is not of this library, and a reader that lacks one can name what to load.
#ifndef PROA_OPS_EXTENSION_ORIGIN_H_
#define PROA_OPS_EXTENSION_ORIGIN_H_

#include "ops/definition.h"

namespace proa::inline v0::ops {

// Null for an op of this library. Lives for ever.
const char* OriginOf(const OpDefinition& op);

// Call once, before the op is registered. Thread-safe.
void SetOrigin(const OpDefinition& op, const char* extension);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_EXTENSION_ORIGIN_H_
