// Folded stacks: one line a stack, "main;step;matmul 1234", as flame graph
// programs read them; the number is self time in microseconds.
#ifndef PROA_PROFILER_FOLDED_STACKS_H_
#define PROA_PROFILER_FOLDED_STACKS_H_

#include "absl/status/status.h"
#include "profiler/output.h"
#include "profiler/recording.h"

namespace proa::inline v0::profiler {

// The name of the thread comes first; threads of the host only. Semicolons,
// line ends and control characters of names become "_". Errors are those of the
// output.
absl::Status WriteFoldedStacks(const Recording& recording, Output& output);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_FOLDED_STACKS_H_
