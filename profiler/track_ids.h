// TrackIds: the numbers that exports give to processes and threads: the
// system's, as long as no two are alike. Private to this room.
#ifndef PROA_PROFILER_TRACK_IDS_H_
#define PROA_PROFILER_TRACK_IDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/recording.h"

namespace proa::inline v0::profiler {

struct TrackIds {
  std::vector<int64_t> process;  // by index
  std::vector<int64_t> thread;   // by index; unlike those of any other thread

  // Recordings that were merged, and threads that took the number of one that
  // had ended, may share a number.
  explicit TrackIds(const Recording& r) {
    constexpr int64_t kOwn = int64_t{1} << 30;
    std::set<int64_t> taken;
    for (const ProcessInfo& p : r.processes) {
      const auto own = kOwn + static_cast<int64_t>(process.size());
      process.push_back(taken.insert(p.system_id).second ? p.system_id : own);
    }
    taken.clear();
    for (const ThreadInfo& t : r.threads) {
      const auto own = kOwn + static_cast<int64_t>(thread.size());
      const bool fits = t.device.empty() && t.system_id > 0 &&
                        t.system_id < kOwn && taken.insert(t.system_id).second;
      thread.push_back(fits ? t.system_id : own);
    }
  }

  int64_t process_of(const ThreadInfo& t) const {
    return t.process < process.size() ? process[t.process] : 0;
  }
};

// Without the queues of devices.
inline size_t HostThreads(const Recording& r) {
  return static_cast<size_t>(
      std::count_if(r.threads.begin(), r.threads.end(),
                    [](const ThreadInfo& t) { return t.device.empty(); }));
}

// "worker", "gpu:0 queue 7".
inline std::string TrackName(const ThreadInfo& t) {
  if (t.device.empty()) return t.name;
  return t.device + (t.name.empty() ? " queue " + std::to_string(t.system_id)
                                    : " " + t.name);
}

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_TRACK_IDS_H_
