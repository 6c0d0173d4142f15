// Which mutant of a gradient formula is active, in the build with
// --define=mutants=1 (ops/conformance/mutation.py), which is for testing the
// tests. Included by generated sources of that build only; no other has
// mutants.
#ifndef PROA_AUTOGRAD_OPS_ACTIVE_MUTANT_H_
#define PROA_AUTOGRAD_OPS_ACTIVE_MUTANT_H_

#include <cstdlib>

namespace proa::inline v0::autograd {

// The number in the environment variable PROA_MUTANT, read at each call, so
// that os.environ of a running Python sets it; 0, the formulas as they are,
// without it.
inline int ActiveMutant() {
  const char* number = std::getenv("PROA_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_OPS_ACTIVE_MUTANT_H_
