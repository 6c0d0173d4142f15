#include "ops/onednn/reorders.h"

#include <atomic>

namespace proa::inline v0::onednn {
namespace {

std::atomic<int64_t> counts[2];

}  // namespace

ReorderCounts GetReorderCounts() {
  return {counts[0].load(std::memory_order_relaxed),
          counts[1].load(std::memory_order_relaxed)};
}

void CountReorder(bool of_weights) {
  counts[of_weights].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace proa::inline v0::onednn
