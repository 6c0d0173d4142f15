// The check for NaN and Inf (FLAGS_check_nan_inf): looks at the results of each
// op call, in forward and backward, eager and in the executor, and names the
// first that made one, what its arguments were like, and where it was called.
//
//   SetNumericCheck({.action = NumericAction::kThrow});
//
// What counts: a NaN in a result, wherever it came from; an Inf in a result
// unless an argument has one already (masks are made of them). Numbers that the
// program itself gives, such as full(inf), are not a mistake. Costs a pass over
// each result; nothing when it is off.
#ifndef PROA_DIAGNOSTICS_NUMERIC_CHECK_H_
#define PROA_DIAGNOSTICS_NUMERIC_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

namespace proa::inline v0 {

enum class NumericAction : uint8_t {
  kOff,
  kThrow,   // Error kFailedPrecondition, from the op's call
  kReport,  // a message on stderr, and on
};

struct NumericCheck {
  NumericAction action = NumericAction::kOff;
  std::vector<std::string> only;    // names of ops; all if empty
  std::vector<std::string> except;  // names of ops that are not looked at
};

// For the whole process. Not while other threads call ops.
void SetNumericCheck(NumericCheck check);
const NumericCheck& GetNumericCheck();

}  // namespace proa::inline v0

#endif  // PROA_DIAGNOSTICS_NUMERIC_CHECK_H_
