// Operands: the output and the inputs of a broadcast computation, ready for a
// kernel to walk.
#ifndef PROA_OPS_PRIMITIVES_CUDA_OPERANDS_H_
#define PROA_OPS_PRIMITIVES_CUDA_OPERANDS_H_

#include <cstdint>
#include <initializer_list>

#include "ops/primitives/cpu/iteration.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cuda {

// The first of `tensors` is the output, whose shape the others broadcast to. An
// input that shares memory with it other than element by element is copied
// first; so is one with more dims than offsets have. Throws Error if elements
// of the output share memory. The tensors must live as long.
struct Operands {
  // `dtypes`: what each is to be; an input of another one is converted.
  Operands(std::initializer_list<const Tensor*> tensors,
           std::initializer_list<DType> dtypes);
  // As they are.
  explicit Operands(std::initializer_list<const Tensor*> tensors)
      : Operands(tensors, {}) {}

  cpu::IterationPlan plan;
  // The operands, as bits, that lie on the host: each is one number.
  uint32_t host = 0;

 private:
  Tensor copies_[cpu::kMaxOperands];
};

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_OPERANDS_H_
