#include "tensor/place.h"

#include <array>
#include <charconv>
#include <mutex>
#include <string>

#include "tensor/error.h"
#include "tensor/fork_locks.h"

namespace proa::inline v0 {
namespace {

struct KindNames {
  std::mutex mutex;
  std::array<std::string, kMaxDeviceKinds> names = {"cpu", "gpu"};
  int count = 2;
};

KindNames& Kinds() {
  static KindNames* kinds = [] {
    auto* made = new KindNames;
    HoldWhileForking(made->mutex);
    return made;
  }();
  return *kinds;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = Kinds();

bool ValidName(std::string_view name) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return false;
  for (char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) {
      return false;
    }
  }
  return true;
}

std::string KnownNames() {
  KindNames& k = Kinds();
  std::lock_guard lock(k.mutex);
  std::string text = k.names[0];
  for (int i = 1; i < k.count; ++i) text += ", " + k.names[i];
  return text;
}

}  // namespace

std::string DeviceKindName(DeviceKind kind) {
  const int i = static_cast<int>(kind);
  KindNames& k = Kinds();
  std::lock_guard lock(k.mutex);
  return i < k.count ? k.names[i] : "custom" + std::to_string(i);
}

bool FindDeviceKind(std::string_view name, DeviceKind* kind) {
  KindNames& k = Kinds();
  std::lock_guard lock(k.mutex);
  for (int i = 0; i < k.count; ++i) {
    if (k.names[i] == name) {
      *kind = static_cast<DeviceKind>(i);
      return true;
    }
  }
  return false;
}

DeviceKind AddDeviceKind(std::string_view name) {
  if (!ValidName(name)) {
    FailArgument("place: '", name,
                 "' is no name for a device kind; use a-z, 0-9 and _");
  }
  KindNames& k = Kinds();
  std::lock_guard lock(k.mutex);
  for (int i = 0; i < k.count; ++i) {
    if (k.names[i] == name) return static_cast<DeviceKind>(i);
  }
  if (k.count == kMaxDeviceKinds) {
    Fail(absl::StatusCode::kResourceExhausted,
         "place: no room for device kind '", name, "'; all ", kMaxDeviceKinds,
         " are taken");
  }
  k.names[k.count] = std::string(name);
  return static_cast<DeviceKind>(k.count++);
}

std::string ToString(Place place) {
  if (place.is_cpu()) return "cpu";
  return DeviceKindName(place.kind) + ":" + std::to_string(place.index);
}

Place ParsePlace(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Place place;
  if (!FindDeviceKind(name, &place.kind)) {
    FailArgument("place: '", text, "' names no known device; known are ",
                 KnownNames());
  }
  if (colon == std::string_view::npos) return place;
  const std::string_view digits = text.substr(colon + 1);
  const auto r = std::from_chars(digits.data(), digits.data() + digits.size(),
                                 place.index);
  if (digits.empty() || r.ec != std::errc() ||
      r.ptr != digits.data() + digits.size() || place.index < 0) {
    FailArgument("place: '", digits, "' in '", text, "' is no device index");
  }
  if (place.is_cpu() && place.index != 0) {
    FailArgument("place: '", text, "' does not exist; there is one cpu");
  }
  return place;
}

}  // namespace proa::inline v0
