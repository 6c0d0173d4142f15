// A guard for all that operator new gives: each block ends where a page that
// nobody may touch begins, and nobody may touch it after it is deleted. What
// reads or writes past the end of a block, or after its end of life, is a
// segmentation fault at once, without a sanitizer and in code that is compiled
// as usual.
//
// For LD_PRELOAD into a process in which tensors come from operator new one by
// one (FLAGS_use_system_allocator=1, tensor/system_memory.h). Guarding begins
// with guard_begin(): tables that a program makes at start-up are not worth two
// mappings each. Blocks of tensors end where their pages do, so they begin at
// multiples of the largest power of two in their size, which is enough for
// their elements; others keep the alignment of plain new. No address is used
// twice.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kUsual = alignof(std::max_align_t);
constexpr size_t kSpace = size_t{1} << 42;
// A process may have 65,530 mappings; a block has two.
constexpr int64_t kMostBlocks = 20000;
// What is larger is guarded as well, but counts: the pages behind a block stay
// in the page tables.
constexpr size_t kLargest = size_t{1} << 34;

char* space = nullptr;
std::atomic<size_t> used{0};
std::atomic<int64_t> live{0};
std::atomic<bool> on{false};

bool Mine(const void* p) {
  return space != nullptr && p >= space && p < space + kSpace;
}

// In a page of its own before each block: how many bytes of whole pages the
// block has.
struct Header {
  size_t pages;
};

void* Guarded(size_t bytes, size_t alignment) {
  if (bytes > kLargest || live.load() >= kMostBlocks) return nullptr;
  // The first page holds the header alone, so that the block may begin
  // anywhere.
  const size_t pages = (bytes + kPage - 1) / kPage * kPage;
  const size_t whole = kPage + pages + kPage;
  const size_t at = used.fetch_add(whole);
  if (at + whole > kSpace) return nullptr;
  char* base = space + at;
  if (mprotect(base, kPage + pages, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  ++live;
  reinterpret_cast<Header*>(base)->pages = pages;
  // Compilers count on what plain new promises.
  const size_t natural = bytes == 0 ? kPage : bytes & ~(bytes - 1);
  if (alignment > kUsual && natural < alignment) alignment = natural;
  char* block = base + kPage + pages - bytes;
  return block - reinterpret_cast<uintptr_t>(block) % alignment;
}

void Return(void* p) {
  // The header lies in the page before the first one of the block.
  char* at =
      reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(p) & ~(kPage - 1));
  // A block without bytes begins at its guard, just behind the page of the
  // header.
  char* base = at - kPage;
  const size_t pages = reinterpret_cast<Header*>(base)->pages;
  mmap(base, kPage + pages, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  --live;
}

void* New(size_t bytes, size_t alignment) {
  if (on.load(std::memory_order_relaxed)) {
    if (void* p = Guarded(bytes, alignment)) return p;
  }
  if (bytes == 0) bytes = 1;
  void* p = nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

void* NewOrThrow(size_t bytes, size_t alignment) {
  void* p = New(bytes, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void Delete(void* p) {
  if (p == nullptr) return;
  if (Mine(p)) {
    Return(p);
  } else {
    std::free(p);
  }
}

}  // namespace

// Guards what is made from now on.
extern "C" void guard_begin() {
  void* p = mmap(nullptr, kSpace, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    std::abort();
  }
  space = static_cast<char*>(p);
  on = true;
}

void* operator new(size_t n) { return NewOrThrow(n, kUsual); }
void* operator new[](size_t n) { return NewOrThrow(n, kUsual); }
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return New(n, kUsual);
}
void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return New(n, kUsual);
}
void* operator new(size_t n, std::align_val_t a) {
  return NewOrThrow(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a) {
  return NewOrThrow(n, static_cast<size_t>(a));
}
void* operator new(size_t n, std::align_val_t a,
                   const std::nothrow_t&) noexcept {
  return New(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a,
                     const std::nothrow_t&) noexcept {
  return New(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { Delete(p); }
void operator delete[](void* p) noexcept { Delete(p); }
void operator delete(void* p, size_t) noexcept { Delete(p); }
void operator delete[](void* p, size_t) noexcept { Delete(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { Delete(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { Delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { Delete(p); }
void operator delete[](void* p, std::align_val_t) noexcept { Delete(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { Delete(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept {
  Delete(p);
}
void operator delete(void* p, std::align_val_t,
                     const std::nothrow_t&) noexcept {
  Delete(p);
}
void operator delete[](void* p, std::align_val_t,
                       const std::nothrow_t&) noexcept {
  Delete(p);
}
