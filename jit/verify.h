// Checks the rules of a program's form. Every reader of untrusted programs
// calls it; what passes can be run or printed without further checks of
// references.
#ifndef PROA_JIT_VERIFY_H_
#define PROA_JIT_VERIFY_H_

#include "absl/status/status.h"
#include "jit/program.h"

namespace proa::inline v0::jit {

// Values are made once and before their uses, argument counts and kinds fit the
// op, result counts fit, regions have the form their operation needs. The error
// names the operation: "operation 3 (matmul): argument y is %9, which is not
// made yet".
absl::Status Verify(const Program& program);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_VERIFY_H_
