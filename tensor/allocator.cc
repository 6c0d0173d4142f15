#include "tensor/allocator.h"

#include <string>

#include "absl/strings/str_format.h"
#include "tensor/error.h"

namespace proa::inline v0 {

std::string FormatBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrFormat("%d B", bytes);
  double n = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (n >= 1024 && unit < 5) {
    n /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.2f %s", n, kUnits[unit]);
}

void FailAllocation(const std::string& device, int64_t asked,
                    const MemoryFigures& f) {
  std::string text = absl::StrFormat(
      "%s: out of memory; asked for %s (%d bytes), in use are %s, held are %s, "
      "of "
      "which %s could be released; the largest free block has %s",
      device, FormatBytes(asked), asked, FormatBytes(f.allocated),
      FormatBytes(f.reserved), FormatBytes(f.releasable),
      FormatBytes(f.largest_free));
  if (f.cap != MemoryFigures().cap) {
    text += absl::StrFormat("; the cap is %s, raise it if the device has more",
                            FormatBytes(f.cap));
  }
  throw Error(absl::StatusCode::kResourceExhausted, text);
}

}  // namespace proa::inline v0
