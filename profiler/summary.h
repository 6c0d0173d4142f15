// Summary: the statistics of a recording as tables of text.
#ifndef PROA_PROFILER_SUMMARY_H_
#define PROA_PROFILER_SUMMARY_H_

#include <cstdint>
#include <string>

#include "profiler/recording.h"

namespace proa::inline v0::profiler {

enum class SortedBy : uint8_t { kTotal, kSelf, kAverage, kMax, kMin, kCalls };

// Which tables, a bit each.
enum View : uint32_t {
  kOverviewView = 1u << 0,  // time by category
  kStepView = 1u << 1,
  kLayerView = 1u << 2,
  kOpView = 1u << 3,
  kKernelView = 1u << 4,  // of devices
  kUserView = 1u << 5,    // ranges of the program's own
  kMemoryView = 1u << 6,
  kThreadView = 1u << 7,
  kSourceView = 1u << 8,
  kAllViews = (1u << 9) - 1,
};

struct SummaryOptions {
  SortedBy sorted_by = SortedBy::kTotal;
  bool shapes = true;            // ops by shapes too, where these were recorded
  bool by_thread = false;        // tables of each thread
  std::string time_unit = "ms";  // "s", "ms", "us", "ns"; others mean "ms"
  uint32_t views = kAllViews;
  int max_rows = 40;  // of a table; the rest is summed up in one
};

// Tables that would be empty are left out. Names that are too long are cut in
// their middle, at characters.
std::string Summary(const Recording& recording, const SummaryOptions& options);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_SUMMARY_H_
