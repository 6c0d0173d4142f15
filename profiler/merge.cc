#include "profiler/merge.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace proa::inline v0::profiler {
namespace {

using Strings = std::vector<std::shared_ptr<const void>>;

// What to add to the times of `r` to have them on the clock of `to`.
int64_t Shift(const Recording& r, const Recording& to) {
  if (r.processes.empty() || to.processes.empty()) return 0;
  const ProcessInfo &mine = r.processes[0], &theirs = to.processes[0];
  if (mine.boot == theirs.boot && mine.host == theirs.host) return 0;
  int64_t shift = 0;
  if (__builtin_sub_overflow(mine.wall_offset_ns, theirs.wall_offset_ns,
                             &shift)) {
    return 0;
  }
  return shift;
}

// `ns` + `shift`, at the end of what there is if that is beyond it.
int64_t Shifted(int64_t ns, int64_t shift) {
  int64_t sum;
  if (!__builtin_add_overflow(ns, shift, &sum)) return sum;
  return shift > 0 ? INT64_MAX : INT64_MIN;
}

}  // namespace

Recording Merge(const std::vector<Recording>& recordings) {
  Recording merged;
  auto strings = std::make_shared<Strings>();
  bool first = true;
  for (size_t i = 0; i < recordings.size(); ++i) {
    const Recording& r = recordings[i];
    const int64_t shift = Shift(r, recordings[0]);
    const auto processes = static_cast<uint32_t>(merged.processes.size());
    const auto threads = static_cast<uint32_t>(merged.threads.size());
    for (ProcessInfo p : r.processes) {
      p.wall_offset_ns = Shifted(p.wall_offset_ns, -shift);
      merged.processes.push_back(std::move(p));
    }
    for (ThreadInfo t : r.threads) {
      t.process += processes;
      merged.threads.push_back(std::move(t));
    }
    for (Event e : r.events) {
      e.start_ns = Shifted(e.start_ns, shift);
      e.end_ns = Shifted(e.end_ns, shift);
      e.thread += threads;
      // The high bits tell the recordings apart; order within one is kept.
      // Memory has addresses there.
      if (e.correlation != 0 && i > 0 && e.kind != EventKind::kAllocate &&
          e.kind != EventKind::kFree) {
        e.correlation += static_cast<uint64_t>(i) << 48;
      }
      merged.events.push_back(e);
    }
    const int64_t start = Shifted(r.start_ns, shift);
    const int64_t stop = Shifted(r.stop_ns, shift);
    merged.start_ns = first ? start : std::min(merged.start_ns, start);
    merged.stop_ns = first ? stop : std::max(merged.stop_ns, stop);
    merged.dropped += r.dropped;
    merged.clock_steps += r.clock_steps;
    if (merged.roof.gflops_per_s == 0 && merged.roof.gbytes_per_s == 0) {
      merged.roof = r.roof;
    }
    strings->push_back(r.strings);
    first = false;
  }
  merged.strings = strings;
  std::stable_sort(merged.events.begin(), merged.events.end(), Earlier);
  return merged;
}

}  // namespace proa::inline v0::profiler
