#include "tensor/system_memory.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "glog/logging.h"

namespace proa::inline v0 {
namespace {

constinit std::array<std::atomic<GiveBack>, 8> keepers{};
constinit std::atomic<size_t> num_keepers{0};

thread_local constinit bool lasting = false;

bool ReadKeepBlocks() {
  const char* value = std::getenv("FLAGS_use_system_allocator");
  if (value == nullptr) return true;
  const std::string_view v(value);
  return v.empty() || v == "0" || v == "false" || v == "False" || v == "no" ||
         v == "off";
}

}  // namespace

bool KeepBlocks() {
  static const bool keep = ReadKeepBlocks();
  return keep;
}

void AddMemoryKeeper(GiveBack give_back) {
  const size_t i = num_keepers.fetch_add(1, std::memory_order_relaxed);
  CHECK_LT(i, keepers.size()) << "too many keepers of memory";
  keepers[i].store(give_back, std::memory_order_release);
}

bool GiveBackMemory() noexcept {
  bool any = false;
  for (const std::atomic<GiveBack>& keeper : keepers) {
    const GiveBack give_back = keeper.load(std::memory_order_acquire);
    if (give_back != nullptr) any |= give_back();
  }
  return any;
}

LastingBlocks::LastingBlocks() : before_(std::exchange(lasting, true)) {}
LastingBlocks::~LastingBlocks() { lasting = before_; }
bool LastingBlocks::wanted() { return lasting; }

void EnsureHostMemory(size_t bytes) {
  // The compiler may not leave them out.
  void* volatile block = std::malloc(bytes);
  if (block == nullptr && GiveBackMemory()) block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  std::free(block);
}

void* NewBlock(size_t bytes, size_t alignment) {
  const std::align_val_t align{alignment};
  void* block = ::operator new(bytes, align, std::nothrow);
  if (block != nullptr) [[likely]]
    return block;
  if (GiveBackMemory()) block = ::operator new(bytes, align, std::nothrow);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void DeleteBlock(void* block, size_t alignment) noexcept {
  ::operator delete (block, std::align_val_t{alignment});
}

}  // namespace proa::inline v0
