// The inner loops of max pooling over some rows of an image (or of one channel
// of it, where channels are not the last dim), compiled for each instruction
// set. pool_cpu.cc shares the rows among threads.
//
// Windows are folded in two steps: the rows that an output row sees (of all
// planes that it sees) into one row, column by column, then neighbouring
// columns of that. Both run along dense memory, and overlapping windows share
// the first.
#ifndef PROA_OPS_NN_MAX_POOL_LOOPS_H_
#define PROA_OPS_NN_MAX_POOL_LOOPS_H_

#include <cstdint>

#include "ops/nn/pool_geometry.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

struct MaxPoolLoops {
  // out = the maxima of x's windows, NaN above all. Unless null, indices[o] =
  // (plane * height + row) * width + column of each, the least of equal ones.
  void (*forward)(const PoolGeometry& g, const PoolRows& rows, const void* x,
                  void* out, int32_t* indices);
  // x_grad = the sum of grad_out over the windows whose maximum is here; of
  // what has GradByRows.
  void (*grad)(const PoolGeometry& g, const PoolRows& rows,
               const void* grad_out, const void* x, void* x_grad);
};

// Whether MaxPoolLoops::grad is for these images: they have one plane, and if
// `channels` is 1, windows of few rows and columns, each of which is looked at
// again for each window.
bool GradByRows(const PoolGeometry& g, int64_t channels);

// For a floating dtype and the instruction set of this machine.
MaxPoolLoops FindMaxPoolLoops(DType dtype);

#define PROA_DECLARE_MAX_POOL_LOOPS(isa)     \
  namespace isa {                            \
  MaxPoolLoops MaxPoolLoopsFor(DType dtype); \
  }
PROA_DECLARE_MAX_POOL_LOOPS(sse2)
PROA_DECLARE_MAX_POOL_LOOPS(avx2)
PROA_DECLARE_MAX_POOL_LOOPS(avx512)
#undef PROA_DECLARE_MAX_POOL_LOOPS

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_MAX_POOL_LOOPS_H_
