// Chrome's trace format (JSON): for chrome://tracing, Perfetto's UI and many
// others.
//
//   absl::Status s = profiler::WriteFile("trace.json.gz", /*gzip=*/true,
//       [&](profiler::Output& out) { return WriteChromeTrace(r, {}, out); });
//
// Ranges become complete events ("X"), async ranges pairs ("b", "e"), memory
// one counter a place. Times are microseconds since the recording began.
#ifndef PROA_PROFILER_CHROME_TRACE_H_
#define PROA_PROFILER_CHROME_TRACE_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "profiler/output.h"
#include "profiler/recording.h"

namespace proa::inline v0::profiler {

struct ChromeTraceOptions {
  // Bound of the text, before compression: events that come later are left out,
  // and their number is said under "otherData". The document is valid in any
  // case.
  int64_t max_bytes = std::numeric_limits<int64_t>::max();
};

// Streamed: takes little memory for any number of events. Errors are those of
// the output, and kInvalidArgument for a bound below what the frame needs (4
// KiB).
absl::Status WriteChromeTrace(const Recording& recording,
                              const ChromeTraceOptions& options,
                              Output& output);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_CHROME_TRACE_H_
