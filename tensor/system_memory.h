// Memory of the system for those who keep what they are given: pools and
// caching allocators. When the system has no more, all keepers are asked to
// give back what they hold unused, and it is tried once more.
//
// With FLAGS_use_system_allocator=1 in the environment nothing is kept: each
// block comes from operator new and goes back to it, so that tools which
// watch that (and tests that let it fail) see all memory. For looking for
// errors; it is slow.
#ifndef PROA_TENSOR_SYSTEM_MEMORY_H_
#define PROA_TENSOR_SYSTEM_MEMORY_H_

#include <cstddef>

namespace proa::inline v0 {

// False if the environment says that nothing is to be kept; the same for the
// whole life of the process.
bool KeepBlocks();

// Gives back what it holds unused; true if there was anything. Must not
// allocate, nor throw.
using GiveBack = bool (*)();
// Adds a keeper, for ever. At most eight. Thread-safe.
void AddMemoryKeeper(GiveBack give_back);
// Asks all keepers; true if any gave something back, so that it is worth
// trying again what failed. Call it where memory that comes from elsewhere (a
// library's own) ran out. Thread-safe; holds no lock of its own.
bool GiveBackMemory() noexcept;

// Throws std::bad_alloc unless a block of this size can be had from malloc;
// before calls of libraries that take host memory and do not look whether they
// got it. It may be gone again, but seldom is. About 30 ns for small blocks.
void EnsureHostMemory(size_t bytes);

// While it lives, large blocks that this thread takes are to last: the CPU
// allocator keeps them apart from those that come and go, which otherwise find
// no place between them that is large enough.
class LastingBlocks {
 public:
  LastingBlocks();
  ~LastingBlocks();
  LastingBlocks(const LastingBlocks&) = delete;
  LastingBlocks& operator=(const LastingBlocks&) = delete;
  static bool wanted();

 private:
  const bool before_;
};

// operator new, which asks the keepers before it throws std::bad_alloc.
void* NewBlock(size_t bytes, size_t alignment);
void DeleteBlock(void* block, size_t alignment) noexcept;

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_SYSTEM_MEMORY_H_
