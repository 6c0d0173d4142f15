// The inner loops of mean pooling over one block (an image of one channel, or
// some channels of an image where they are the last dim), compiled for each
// instruction set. pool_cpu.cc shares the blocks among threads.
#ifndef PROA_OPS_NN_POOL_LOOPS_H_
#define PROA_OPS_NN_POOL_LOOPS_H_

#include <cstdint>

#include "ops/nn/pool_geometry.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// Channels of one block when they are the last dim.
inline constexpr int64_t kPoolChannelBlock = 32;

// Where the elements of one block lie, in elements. `in` and `out` share the
// order of dims.
struct PoolBlock {
  int64_t in_start, out_start;  // first elements
  int64_t channels;             // 1 unless they are the last dim (and dense)
  int64_t in_step[kMostSpatialDims], out_step[kMostSpatialDims];
};

// What a mean divides by: the positions of its window that PoolGeometry counts,
// or one number for all.
struct PoolDivisor {
  bool exclusive = true;
  double value = 0;  // 0: those positions
};

struct PoolLoops {
  // out = the means of x's windows.
  void (*mean)(const PoolGeometry& g, const PoolBlock& b,
               const PoolDivisor& divisor, const void* x, void* out);
  // out [images] = the means of x [images, n].
  void (*image_means)(const void* x, int64_t images, int64_t n, void* out);
  // x_grad = the shares of grad_out of each element.
  void (*mean_grad)(const PoolGeometry& g, const PoolRows& rows,
                    const PoolDivisor& divisor, const void* grad_out,
                    void* x_grad);
};

// For a floating dtype and the instruction set of this machine.
PoolLoops FindPoolLoops(DType dtype);

#define PROA_DECLARE_POOL_LOOPS(isa)   \
  namespace isa {                      \
  PoolLoops PoolLoopsFor(DType dtype); \
  }
PROA_DECLARE_POOL_LOOPS(sse2)
PROA_DECLARE_POOL_LOOPS(avx2)
PROA_DECLARE_POOL_LOOPS(avx512)
#undef PROA_DECLARE_POOL_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_POOL_LOOPS_H_
