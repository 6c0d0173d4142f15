// How far ahead of the elements at hand loops ask memory for those to come:
// hardware does not look beyond the end of a page.
#ifndef PROA_OPS_PRIMITIVES_CPU_AHEAD_H_
#define PROA_OPS_PRIMITIVES_CPU_AHEAD_H_

#include <cstdint>

namespace proa::inline v0::ops::cpu {

// Bytes. From 2 KiB on it matters little: of logsumexp from memory an element
// takes as long with 2 as with 8, a sixth longer with half of one (AVX-512).
inline constexpr int64_t kAhead = 8192;

// Asks for what lies so far behind `bytes` bytes from `at` on, which may be the
// end of memory.
inline void AskAhead(const void* at, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64)
    __builtin_prefetch(static_cast<const char*>(at) + kAhead + i);
}

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_AHEAD_H_
