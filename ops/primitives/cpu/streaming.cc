#include "ops/primitives/cpu/streaming.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace proa::inline v0::ops::cpu {
namespace {

// Of a large cache a core cannot count on more than kMost: others share it, and
// chains of operations over arrays that would all fit take half as long again
// with stores that go by way of it.
int64_t OfThisMachine() {
  constexpr int64_t kLeast = int64_t{8} << 20, kMost = int64_t{32} << 20;
  const int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return cache > 0 ? std::clamp(cache, kLeast, kMost) : kMost;
}

const int64_t of_this_machine = OfThisMachine();
constinit std::atomic<int64_t> set_bytes{0};

}  // namespace

int64_t StreamBytes() {
  const int64_t bytes = set_bytes.load(std::memory_order_relaxed);
  return bytes > 0 ? bytes : of_this_machine;
}

void SetStreamBytes(int64_t bytes) {
  set_bytes.store(bytes, std::memory_order_relaxed);
}

bool PaysToStream(int64_t bytes) { return bytes >= StreamBytes(); }

}  // namespace proa::inline v0::ops::cpu
