// Attributes of functions that are loops, or parts of loops.
//
// PROA_HD: in front of a function that host loops and device kernels share. On
// the host it forces inlining, without which gcc does not vectorize the loop
// around it.
#ifndef PROA_OPS_PRIMITIVES_HOST_DEVICE_H_
#define PROA_OPS_PRIMITIVES_HOST_DEVICE_H_

#ifdef __CUDACC__
#define PROA_HD __host__ __device__ __forceinline__
#else
#define PROA_HD inline __attribute__((always_inline))
#endif

// PROA_STRAIGHT_LINE: in front of a function with a loop over conditional
// expressions. These passes make branches of them, and gcc does not vectorize
// loops with branches.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define PROA_STRAIGHT_LINE \
  __attribute__((optimize("no-tree-pre", "no-thread-jumps")))
#else
#define PROA_STRAIGHT_LINE
#endif

#endif  // PROA_OPS_PRIMITIVES_HOST_DEVICE_H_
