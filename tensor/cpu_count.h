// How many CPUs this process may use: the affinity mask (taskset, cpusets) and
// the quota of its cgroup (containers). The functions that take text are for
// the tests.
#ifndef PROA_TENSOR_CPU_COUNT_H_
#define PROA_TENSOR_CPU_COUNT_H_

#include <optional>
#include <string>
#include <string_view>

namespace proa::inline v0 {

// min(affinity, quota rounded up), at least 1. Reads files; keep the result.
int CountAvailableCpus();

// CPUs worth of a cgroup v2 "cpu.max" ("150000 100000" is 1.5, "max 100000"
// none).
std::optional<double> ParseCpuMax(std::string_view text);

// The path of the process in /proc/self/cgroup's text: of the line with empty
// controllers (v2), or with `controller` among them (v1). Empty if there is
// none.
std::string CgroupPath(std::string_view proc_self_cgroup,
                       std::string_view controller);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_CPU_COUNT_H_
