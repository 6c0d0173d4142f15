// When results are stored past the caches (StreamCopy of blocks.h, which is
// compiled for each instruction set; this is not).
#ifndef PROA_OPS_PRIMITIVES_CPU_STREAMING_H_
#define PROA_OPS_PRIMITIVES_CPU_STREAMING_H_

#include <cstdint>

namespace proa::inline v0::ops::cpu {

// Whether the output of a call that touches so many bytes should be stored
// so: where they do not fit the caches together it saves reading the output's
// lines before they are overwritten.
bool PaysToStream(int64_t bytes);

// The least number of bytes that it pays for.
int64_t StreamBytes();
// 0: that of this machine. Tests make it small, so that small calls take the
// ways of large ones.
void SetStreamBytes(int64_t bytes);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_STREAMING_H_
