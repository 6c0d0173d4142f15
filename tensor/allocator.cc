#include "tensor/allocator.h"

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tensor/block_heap.h"
#include "tensor/error.h"

namespace proa::inline v0 {

namespace {

// Texts are made where there may be no memory for them: not by Abseil, which
// ends the process then, and nothing longer than it needs.
struct Bytes {
  char text[32];
};

Bytes Format(int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  Bytes out;
  if (bytes < 1024) {
    snprintf(out.text, sizeof out.text, "%" PRId64 " B", bytes);
    return out;
  }
  double n = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (n >= 1024 && unit < 5) {
    n /= 1024;
    ++unit;
  }
  snprintf(out.text, sizeof out.text, "%.2f %s", n, kUnits[unit]);
  return out;
}

}  // namespace

std::string FormatBytes(int64_t bytes) { return Format(bytes).text; }

void FailAllocation(const std::string& device, int64_t asked,
                    const MemoryFigures& f) {
  char text[512];
  int n = snprintf(
      text, sizeof text,
      "%s: out of memory; asked for %s (%" PRId64
      " bytes), in use are %s, held are %s, of which %s could be released; the "
      "largest free block has %s",
      device.c_str(), Format(asked).text, asked, Format(f.allocated).text,
      Format(f.reserved).text, Format(f.releasable).text,
      Format(f.largest_free).text);
  if (f.cap != MemoryFigures().cap && n > 0 &&
      n < static_cast<int>(sizeof text)) {
    snprintf(text + n, sizeof text - n,
             "; the cap is %s, raise it if the device has more",
             Format(f.cap).text);
  }
  throw Error(absl::StatusCode::kResourceExhausted, text);
}

std::shared_ptr<const BlockPlaces> MemoryPlan::places() const {
  const std::lock_guard lock(mutex_);
  return places_;
}

bool MemoryPlan::wants_record() const {
  const std::lock_guard lock(mutex_);
  return places_ == nullptr && records_ < kMostRecords;
}

void MemoryPlan::Learn(BlockPlaces places) {
  auto learned = std::make_shared<const BlockPlaces>(std::move(places));
  const std::lock_guard lock(mutex_);
  places_ = std::move(learned);
  ++records_;
}

void MemoryPlan::Forget() {
  const std::lock_guard lock(mutex_);
  places_ = nullptr;
}

}  // namespace proa::inline v0
