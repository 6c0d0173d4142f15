// KeepMallocBlocks: malloc keeps what is given back to it.
//
// The malloc of glibc gives the end of its heap back to the system when enough
// of it is free. Where samples are loaded, that happens for each: images and
// arrays of a few hundred KiB come and go, and the system clears each page of
// the next one anew, which takes as long as half of decoding a JPEG.
#ifndef PROA_TENSOR_MALLOC_BLOCKS_H_
#define PROA_TENSOR_MALLOC_BLOCKS_H_

#include <cstdint>

namespace proa::inline v0 {

// What the end of the heap may keep from now on.
inline constexpr int64_t kKeptByMalloc = int64_t{64} << 20;

// For the whole process. Does nothing where the environment has settings of
// malloc (MALLOC_TRIM_THRESHOLD_ and the like, GLIBC_TUNABLES), where nothing
// is to be kept (FLAGS_use_system_allocator), and without glibc. Returns
// whether it did. What malloc keeps counts as memory to give back when there is
// no more (system_memory.h). Thread-safe.
bool KeepMallocBlocks();

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_MALLOC_BLOCKS_H_
