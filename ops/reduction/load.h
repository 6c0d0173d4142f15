// How reductions and scans bring their argument to the type in which they add
// up, where the primitives do not do so by themselves.
#ifndef PROA_OPS_REDUCTION_LOAD_H_
#define PROA_OPS_REDUCTION_LOAD_H_

#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/elementwise.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

inline void ConvertLoop(const void* convert, char* const* data, int64_t n) {
  (*static_cast<const ConvertFn*>(convert))(data[1], data[0], n);
}

inline void CopyLoop(const void* item_size, char* const* data, int64_t n) {
  GatherRun(data[1], *static_cast<const int64_t*>(item_size),
            *static_cast<const int64_t*>(item_size), n, data[0]);
}

// Copies x to `to`, which is contiguous and may have another shape and dtype.
inline void Load(const Tensor& x, const Tensor& to) {
  Tensor shaped = to.AsStrided(x.shape(), ContiguousStrides(x.shape()), 0);
  const Tensor* inputs[] = {&x};
  const ConvertFn convert = FindConvert(x.dtype(), to.dtype());
  const int64_t item_size = ItemSize(x.dtype());
  const bool copy = convert == nullptr;
  const ElementwiseLoop loop = {
      copy ? &CopyLoop : &ConvertLoop, 2, {to.dtype(), x.dtype()}, 1};
  RunBlocks(loop, copy ? static_cast<const void*>(&item_size) : &convert,
            &shaped, inputs);
}

// x as it goes into a result of type `out`: for bool, which of its elements are
// not 0, since 0.5 is true and the sum of 1 and -1 is too.
inline Tensor AsTruth(const Tensor& x, DType out) {
  if (out != DType::kBool || x.dtype() == DType::kBool) return x;
  const Tensor truth = Tensor::Empty(x.shape(), DType::kBool);
  Load(x, truth);
  return truth;
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_REDUCTION_LOAD_H_
