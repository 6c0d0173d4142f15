#include "tensor/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

namespace proa::inline v0 {
namespace {

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<double> ParseNumber(std::string_view text) {
  double value;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc()) return std::nullopt;
  return value;
}

int AffinityCpus() {
  // cpu_set_t holds 1024 CPUs; larger machines need a larger mask.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 8) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(count, 1);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// The least quota on the way from `path` up to the root of the hierarchy.
template <typename Quota>
std::optional<double> LeastQuota(const std::string& mount, std::string path,
                                 Quota quota) {
  std::optional<double> least;
  while (true) {
    if (std::optional<double> q = quota(mount + path);
        q && (!least || *q < *least)) {
      least = q;
    }
    const size_t slash = path.find_last_of('/');
    if (path.empty() || slash == std::string::npos) return least;
    path.resize(slash);
  }
}

std::optional<double> QuotaV2(const std::string& folder) {
  const auto text = ReadFile(folder + "/cpu.max");
  return text ? ParseCpuMax(*text) : std::nullopt;
}

std::optional<double> QuotaV1(const std::string& folder) {
  const auto quota = ReadFile(folder + "/cpu.cfs_quota_us");
  const auto period = ReadFile(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return ParseCpuMax(*quota + " " + *period);  // "-1" is no quota
}

std::optional<double> CgroupQuota() {
  const auto groups = ReadFile("/proc/self/cgroup");
  if (!groups) return std::nullopt;
  // In a container the path may name a folder outside it; the root is tried,
  // too.
  auto least = LeastQuota("/sys/fs/cgroup", CgroupPath(*groups, ""), QuotaV2);
  const auto v1 =
      LeastQuota("/sys/fs/cgroup/cpu", CgroupPath(*groups, "cpu"), QuotaV1);
  if (v1 && (!least || *v1 < *least)) least = v1;
  return least;
}

}  // namespace

std::optional<double> ParseCpuMax(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto quota = ParseNumber(text);
  const auto period = ParseNumber(text.substr(space + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::string CgroupPath(std::string_view text, std::string_view controller) {
  // Lines are "hierarchy:controllers:path".
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t a = line.find(':');
    const size_t b = a == line.npos ? line.npos : line.find(':', a + 1);
    if (b == line.npos) continue;
    const std::string list =
        "," + std::string(line.substr(a + 1, b - a - 1)) + ",";
    const bool match = controller.empty()
                           ? list == ",,"
                           : list.find("," + std::string(controller) + ",") !=
                                 std::string::npos;
    if (!match) continue;
    const std::string path(line.substr(b + 1));
    return path == "/" ? "" : path;
  }
  return "";
}

int CountAvailableCpus() {
  int cpus = AffinityCpus();
  if (const auto quota = CgroupQuota(); quota && *quota < cpus) {
    cpus = static_cast<int>(std::ceil(*quota));
  }
  return std::max(cpus, 1);
}

}  // namespace proa::inline v0
