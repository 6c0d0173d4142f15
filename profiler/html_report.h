// A report as one HTML file that needs nothing else: timeline, flame graph,
// memory curve and tables. Works offline; loads nothing, sends nothing.
#ifndef PROA_PROFILER_HTML_REPORT_H_
#define PROA_PROFILER_HTML_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "profiler/output.h"
#include "profiler/recording.h"

namespace proa::inline v0::profiler {

struct HtmlReportOptions {
  std::string title = "Profile";
  // The timeline shows at most so many ranges: of more, the longest. Tables,
  // flame graph and memory curve are made from all.
  size_t max_ranges = 50000;
  size_t max_flame_nodes = 5000;
  size_t max_memory_points = 4000;  // of each place
  size_t max_rows = 200;            // of each table
};

// The page is well-formed XML too. Its data are JSON in a script element with
// the id "data"; the tables are plain HTML. Errors are those of the output.
absl::Status WriteHtmlReport(const Recording& recording,
                             const HtmlReportOptions& options, Output& output);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_HTML_REPORT_H_
