// Kernels made of the primitives, for their tests and benchmarks: each in every
// instruction set, as a table.
#ifndef PROA_OPS_PRIMITIVES_CPU_TESTING_KERNELS_H_
#define PROA_OPS_PRIMITIVES_CPU_TESTING_KERNELS_H_

#include <cstdint>
#include <vector>

#include "tensor/philox.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

struct TestingKernels {
  const char* isa;
  // out = x + y, in float; tensors may be of any dtype.
  void (*add)(const Tensor& x, const Tensor& y, Tensor* out);
  void (*multiply_complex)(const Tensor& x, const Tensor& y, Tensor* out);
  void (*exp)(const Tensor& x, Tensor* out);
  void (*select)(const Tensor& c, const Tensor& x, const Tensor& y,
                 Tensor* out);
  // Over the dims in the bit set `axes`, into contiguous float accumulators.
  void (*sum)(const Tensor& x, uint64_t axes, float* acc);
  void (*max)(const Tensor& x, uint64_t axes, float* acc);
  // Of philox_words.h.
  void (*words)(const PhiloxStream& stream, uint64_t block, int64_t n,
                uint32_t* words);
};

// Those that this machine runs, the most capable last.
std::vector<TestingKernels> AllTestingKernels();

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_CPU_TESTING_KERNELS_H_
