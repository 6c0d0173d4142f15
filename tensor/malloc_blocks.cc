#include "tensor/malloc_blocks.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cstdlib>
#include <initializer_list>

#include "tensor/system_memory.h"

namespace proa::inline v0 {

#if defined(__GLIBC__)

bool KeepMallocBlocks() {
  static const bool kept = [] {
    if (!KeepBlocks()) return false;
    for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_",
                             "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"}) {
      if (std::getenv(name) != nullptr) return false;
    }
    // Larger blocks than this, the most that glibc takes, are the system's.
    constexpr int kLargest = 32 << 20;
    if (mallopt(M_MMAP_THRESHOLD, kLargest) == 0 ||
        mallopt(M_TRIM_THRESHOLD, static_cast<int>(kKeptByMalloc)) == 0) {
      return false;
    }
    AddMemoryKeeper([] { return malloc_trim(0) != 0; });
    return true;
  }();
  return kept;
}

#else

bool KeepMallocBlocks() { return false; }

#endif

}  // namespace proa::inline v0
