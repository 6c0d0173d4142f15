// Preloaded into a process, lets chosen allocations of Proa fail: operator new
// throws std::bad_alloc, malloc and its kin give null. Not touched are Python's
// own memory, and oneDNN's, which does not look whether it was given any (so
// Proa does, before it calls it). With FLAGS_use_system_allocator=1 tensors are
// among it.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_realloc(void* p, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

constinit std::atomic<bool> armed{false};
constinit std::atomic<bool> all_after{false};
constinit std::atomic<int64_t> first{0};
constinit std::atomic<int64_t> count{0};

// The code of a library.
struct Code {
  uintptr_t begin = 0, end = 0;
  bool Has(const void* caller) const {
    const auto at = reinterpret_cast<uintptr_t>(caller);
    return at >= begin && at < end;
  }
};
constinit Code proa_code, onednn_code;

int FindCode(dl_phdr_info* info, size_t, void*) {
  const bool proa = strstr(info->dlpi_name, "/_C.") != nullptr;
  if (!proa && strstr(info->dlpi_name, "dnnl") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD || (h.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + h.p_vaddr;
    (proa ? proa_code : onednn_code) = {begin, begin + h.p_memsz};
  }
  return 0;
}

bool Fails() {
  const int64_t n = count.fetch_add(1, std::memory_order_relaxed) + 1;
  return all_after.load() ? n >= first.load() : n == first.load();
}

// Of malloc and its kin.
bool FailsFor(const void* caller) {
  return armed.load(std::memory_order_relaxed) && proa_code.Has(caller) &&
         Fails();
}
// Of operator new, which the standard library calls for us too.
bool NewFailsFor(const void* caller) {
  return armed.load(std::memory_order_relaxed) && !onednn_code.Has(caller) &&
         Fails();
}

}  // namespace

extern "C" {

// From now on allocation number `n` (from 1) fails; `all`: and all after it.
// 0: none does.
void fail_allocation(int64_t n, int all) {
  dl_iterate_phdr(&FindCode, nullptr);
  count = 0;
  first = n > 0 ? n : INT64_MAX;
  all_after = all != 0;
  armed = true;
}

// Ends that; how many allocations there were.
int64_t stop_failing() {
  armed = false;
  return count;
}

void* malloc(size_t bytes) {
  if (FailsFor(__builtin_return_address(0))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) {
  if (FailsFor(__builtin_return_address(0))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(n, bytes);
}
void* realloc(void* p, size_t bytes) {
  if (FailsFor(__builtin_return_address(0))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(p, bytes);
}
int posix_memalign(void** p, size_t alignment, size_t bytes) {
  if (FailsFor(__builtin_return_address(0))) return ENOMEM;
  *p = __libc_memalign(alignment, bytes);
  return *p == nullptr ? ENOMEM : 0;
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  if (FailsFor(__builtin_return_address(0))) return nullptr;
  return __libc_memalign(alignment, bytes);
}

}  // extern "C"

void* operator new(size_t bytes) {
  void* p = NewFailsFor(__builtin_return_address(0))
                ? nullptr
                : __libc_malloc(bytes == 0 ? 1 : bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  void* p = NewFailsFor(__builtin_return_address(0))
                ? nullptr
                : __libc_memalign(static_cast<size_t>(alignment),
                                  bytes == 0 ? 1 : bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
