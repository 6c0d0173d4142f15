// The elementwise driver: runs a loop over contiguous blocks on operands of any
// strides, broadcasting and storage types, in as many threads as the work is
// worth.
//
// A loop computes n elements: out[i] = f(in1[i], in2[i], ...), in `compute`
// types, each array contiguous (loops.h makes such loops from formulas). The
// driver gives it the operands' own memory where that fits and blocks of copies
// where not. It may be called with out and an input being the same memory; an
// input that overlaps the output otherwise is copied first. Each element is
// computed on its own, so results do not depend on threads or on the way the
// work is cut.
//
// Kernels call RunElementwise of loops.h, which serves small contiguous calls
// itself.
#ifndef PROA_OPS_PRIMITIVES_CPU_ELEMENTWISE_H_
#define PROA_OPS_PRIMITIVES_CPU_ELEMENTWISE_H_

#include <cstdint>

#include "ops/primitives/cpu/iteration.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

// data[0] is the output.
using BlockLoop = void (*)(const void* formula, char* const* data, int64_t n);

struct ElementwiseLoop {
  BlockLoop loop;
  int num_operands;                  // the output and the inputs
  DType compute[cpu::kMaxOperands];  // types that `loop` works in
  float cost;                        // of an element, where 1 is an addition
};

// `out` has the broadcast shape of the inputs (ins[0 .. num_operands - 2]).
void RunBlocks(const ElementwiseLoop& loop, const void* formula, Tensor* out,
               const Tensor* const* ins);

// Below this many additions work stays in the calling thread.
inline constexpr int64_t kSerialCost = 32768;

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_ELEMENTWISE_H_
