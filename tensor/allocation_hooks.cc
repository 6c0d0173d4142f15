#include "tensor/allocation_hooks.h"

#include <array>
#include <bit>
#include <cstring>
#include <mutex>

namespace proa::inline v0 {
namespace internal {

constinit std::atomic<const AllocationHooks*> allocation_hooks{nullptr};

}  // namespace internal

namespace {

constinit std::array<std::atomic<const AllocationHooks*>, 2> slots{};
constinit std::atomic<MemoryFill> memory_fill{MemoryFill::kNone};

// Both slots, where both are taken.
constexpr AllocationHooks kBoth = {
    .allocated =
        [](Place place, const void* data, int64_t bytes, bool pooled) {
          for (const auto& slot : slots) {
            const AllocationHooks* hooks = slot.load(std::memory_order_acquire);
            if (hooks != nullptr) hooks->allocated(place, data, bytes, pooled);
          }
        },
    .freed =
        [](Place place, const void* data, int64_t bytes) {
          for (const auto& slot : slots) {
            const AllocationHooks* hooks = slot.load(std::memory_order_acquire);
            if (hooks != nullptr) hooks->freed(place, data, bytes);
          }
        },
};

constexpr AllocationHooks kFilling = {
    .allocated =
        [](Place place, const void* data, int64_t bytes, bool) {
          if (!place.is_cpu()) return;
          // The memory is new: nobody else knows it yet.
          auto* to = static_cast<unsigned char*>(const_cast<void*>(data));
          if (memory_fill.load(std::memory_order_relaxed) == MemoryFill::kNan) {
            std::memset(to, 0xFF, static_cast<size_t>(bytes));
            return;
          }
          constexpr auto kLarge =
              std::bit_cast<std::array<unsigned char, 4>>(1e30f);
          for (int64_t i = 0; i < bytes; ++i) to[i] = kLarge[i % 4];
        },
    .freed = [](Place, const void*, int64_t) {},
};

}  // namespace

void InstallAllocationHooks(AllocationHookSlot slot,
                            const AllocationHooks* hooks) {
  static constinit std::mutex mutex;
  std::lock_guard lock(mutex);
  slots[static_cast<size_t>(slot)].store(hooks, std::memory_order_release);
  const AllocationHooks* first = slots[0].load(std::memory_order_relaxed);
  const AllocationHooks* second = slots[1].load(std::memory_order_relaxed);
  const bool both = first != nullptr && second != nullptr;
  internal::allocation_hooks.store(both               ? &kBoth
                                   : first != nullptr ? first
                                                      : second,
                                   std::memory_order_release);
}

void SetMemoryFill(MemoryFill fill) {
  memory_fill.store(fill, std::memory_order_relaxed);
  InstallAllocationHooks(AllocationHookSlot::kFill,
                         fill == MemoryFill::kNone ? nullptr : &kFilling);
}

MemoryFill GetMemoryFill() {
  return memory_fill.load(std::memory_order_relaxed);
}

}  // namespace proa::inline v0
