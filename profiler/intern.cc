// Strings and details that live for ever, bounded in number.
#include <pthread.h>

#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "profiler/events.h"

namespace proa::inline v0::profiler {
namespace {

constexpr size_t kMostNameBytes = size_t{64} << 20;
constexpr size_t kNameOverhead = 64;
constexpr size_t kMostDetails = size_t{1} << 18;

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const {
    return std::hash<std::string_view>()(s);
  }
  size_t operator()(const Details& d) const {
    size_t h = std::hash<const void*>()(d.shapes);
    h = h * 1000003 + std::hash<const void*>()(d.source);
    h = h * 1000003 + std::hash<double>()(d.flops);
    return h * 1000003 + std::hash<double>()(d.bytes);
  }
};
struct Equal {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return a == b;
  }
  bool operator()(const Details& a, const Details& b) const {
    return a.shapes == b.shapes && a.source == b.source && a.flops == b.flops &&
           a.bytes == b.bytes;
  }
};

struct Tables {
  std::mutex mutex;
  std::unordered_set<std::string, Hash, Equal> names;  // nodes do not move
  size_t name_bytes = 0;
  std::unordered_set<Details, Hash, Equal> details;
};

Tables& TheTables() {
  static Tables* tables = [] {
    auto* t = new Tables;
    pthread_atfork([] { TheTables().mutex.lock(); },
                   [] { TheTables().mutex.unlock(); },
                   [] { TheTables().mutex.unlock(); });
    return t;
  }();
  return *tables;
}

// Made at load; a child of fork() that was made while another thread
// stood in its first call would wait for that thread for ever.
[[maybe_unused]] const auto& at_load = TheTables();

}  // namespace

const char* Intern(std::string_view name) {
  name = name.substr(0, name.find('\0'));
  Tables& t = TheTables();
  std::lock_guard lock(t.mutex);
  if (const auto at = t.names.find(name); at != t.names.end()) {
    return at->c_str();
  }
  if (t.name_bytes + name.size() + kNameOverhead > kMostNameBytes) {
    return "(too many names)";
  }
  t.name_bytes += name.size() + kNameOverhead;
  return t.names.emplace(name).first->c_str();
}

const Details* InternDetails(const Details& details) {
  Tables& t = TheTables();
  std::lock_guard lock(t.mutex);
  if (const auto at = t.details.find(details); at != t.details.end()) {
    return &*at;
  }
  if (t.details.size() >= kMostDetails) return nullptr;
  return &*t.details.insert(details).first;
}

}  // namespace proa::inline v0::profiler
