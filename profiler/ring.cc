#include "profiler/ring.h"

#include <sys/mman.h>

#include <algorithm>

namespace proa::inline v0::profiler::internal {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// A thread that writes little shall not take a huge page.
constexpr size_t kSmallPart = size_t{256} << 10;
// 2^40 entries are more than any machine holds.
constexpr int64_t kMost = int64_t{1} << 40;

}  // namespace

Ring::Ring(int64_t capacity) {
  capacity = std::clamp<int64_t>(capacity, 0, kMost);
  if (capacity == 0) return;
  const size_t bytes = static_cast<size_t>(capacity) * kEntryBytes;
  const size_t padded = bytes + kHugePage + kSmallPart;
  void* raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return;
  mapping_ = raw;
  mapping_bytes_ = padded;
  // The first entries end where a huge page begins.
  const uintptr_t base = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t huge =
      (base + kSmallPart + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = base + padded;
  if (end > huge) {
    madvise(reinterpret_cast<void*>(huge), end - huge, MADV_HUGEPAGE);
  }
  words_ = reinterpret_cast<std::atomic<uint64_t>*>(huge - kSmallPart);
  capacity_ = static_cast<size_t>(capacity);
}

Ring::~Ring() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

void Ring::Discard() {
  if (mapping_ != nullptr) madvise(mapping_, mapping_bytes_, MADV_DONTNEED);
}

}  // namespace proa::inline v0::profiler::internal
