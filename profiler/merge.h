// Merge: recordings of several processes as one, on one time line.
#ifndef PROA_PROFILER_MERGE_H_
#define PROA_PROFILER_MERGE_H_

#include <vector>

#include "profiler/recording.h"

namespace proa::inline v0::profiler {

// Recordings of one boot of a machine share its monotonic clock. Others are
// aligned by the calendar time that each process noted, to the first recording;
// they are as exact as the machines' calendar clocks. Correlations and flow ids
// of different processes are kept apart. The roof is that of the first which
// knows one.
Recording Merge(const std::vector<Recording>& recordings);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_MERGE_H_
