// Perfetto's trace format (protobuf): for https://ui.perfetto.dev and its trace
// processor. Smaller and quicker to open than Chrome's JSON.
#ifndef PROA_PROFILER_PERFETTO_H_
#define PROA_PROFILER_PERFETTO_H_

#include "absl/status/status.h"
#include "profiler/output.h"
#include "profiler/recording.h"

namespace proa::inline v0::profiler {

// Streamed: besides the output, takes memory for the ranges that are open at a
// time. Slices of a track nest: a range that reaches beyond one that began
// before it on its thread is cut there. Async ranges and counters are tracks of
// their own. Errors are those of the output.
absl::Status WritePerfettoTrace(const Recording& recording, Output& output);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_PERFETTO_H_
