#include "distributed/backend.h"

#include <map>
#include <mutex>

#include "absl/strings/str_join.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

std::mutex registry_mu;

std::map<std::string, BackendFactory>& Registry() {
  static auto* registry = new std::map<std::string, BackendFactory>;
  return *registry;
}

std::map<std::string, std::string>& Absent() {
  static auto* absent = new std::map<std::string, std::string>;
  return *absent;
}

}  // namespace

void DeviceBackend::Move(const CollectiveCall& call,
                         const std::vector<int64_t>&,
                         const std::vector<int64_t>&, const Watch&) {
  Fail(absl::StatusCode::kInternal, Name(call.kind), ": ", transport(),
       " moves nothing on the host");
}

bool RegisterAbsentBackend(const std::string& name, const std::string& why) {
  const std::lock_guard lock(registry_mu);
  Absent()[name] = why;
  return true;
}

std::string WhyAbsent(const std::string& name) {
  const std::lock_guard lock(registry_mu);
  const auto at = Absent().find(name);
  return at == Absent().end() ? "" : at->second;
}

bool RegisterBackend(const std::string& name, BackendFactory factory) {
  const std::lock_guard lock(registry_mu);
  PROA_REQUIRE(!name.empty() && name.size() < 32, "RegisterBackend: the name '",
               name, "' has ", name.size(),
               " characters; it must have 1 to 31");
  PROA_REQUIRE(Registry().emplace(name, factory).second,
               "RegisterBackend: there is a backend '", name, "' already");
  return true;
}

std::vector<std::string> BackendNames() {
  const std::lock_guard lock(registry_mu);
  std::vector<std::string> names;
  for (const auto& [name, factory] : Registry()) names.push_back(name);
  return names;
}

BackendFactory FindBackend(const std::string& name) {
  {
    const std::lock_guard lock(registry_mu);
    const auto at = Registry().find(name);
    if (at != Registry().end()) return at->second;
  }
  const std::string why = WhyAbsent(name);
  FailArgument("new_group: there is no backend '", name, "' here",
               why.empty() ? "" : ": ", why,
               "; there are: ", absl::StrJoin(BackendNames(), ", "));
}

}  // namespace proa::inline v0::distributed
