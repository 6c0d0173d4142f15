// Where a tensor lives: a device kind and an index, e.g. `cpu`, `gpu:1`,
// `npu:0`. Kinds beyond cpu and gpu are named by device plugins when they are
// loaded.
#ifndef PROA_TENSOR_PLACE_H_
#define PROA_TENSOR_PLACE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace proa::inline v0 {

// Index into the device table (tensor/device.h). cpu and gpu are fixed, plugins
// get the next free number when they register.
enum class DeviceKind : uint8_t { kCPU = 0, kGPU = 1, kFirstCustom = 2 };
inline constexpr int kMaxDeviceKinds = 6;

struct Place {
  DeviceKind kind = DeviceKind::kCPU;
  int16_t index = 0;

  friend bool operator==(const Place&, const Place&) = default;
  bool is_cpu() const { return kind == DeviceKind::kCPU; }
};

// "cpu", "gpu:0", "npu:1".
std::string ToString(Place place);

// "cpu", "gpu", or the name that a plugin registered; "custom3" for a number
// that nobody has taken.
std::string DeviceKindName(DeviceKind kind);
// The kind of that name, or false.
bool FindDeviceKind(std::string_view name, DeviceKind* kind);
// Takes the next free number for a new kind; the same name gives the same
// number again. Names are [a-z][a-z0-9_]*. Throws Error for other names and
// when kMaxDeviceKinds are taken. Thread-safe. Called by RegisterDeviceRuntime.
DeviceKind AddDeviceKind(std::string_view name);
// Inverse of ToString; "gpu" means "gpu:0". Throws Error for unknown kinds or a
// bad index.
Place ParsePlace(std::string_view text);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_PLACE_H_
