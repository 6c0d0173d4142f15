// For generated front doors: errors begin with the op that was called,
// whichever part of it noticed them.
#ifndef PROA_OPS_RETHROW_H_
#define PROA_OPS_RETHROW_H_

#include "tensor/error.h"

namespace proa::inline v0::ops {

// Within a catch block. The error goes on as it is if its message begins with
// the op ("add: " or "add_: "), else with "add: " before it.
[[noreturn]] void RethrowFrom(const char* op, const Error& error);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_RETHROW_H_
