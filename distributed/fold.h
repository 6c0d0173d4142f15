// Sums and other combinations of the elements of several ranks.
//
// Always in the order of ranks, ((r0 + r1) + r2) + ..., so that the result is
// the same on every rank, in every run, for any way in which the data came.
// 16-bit floats add up in float32 and are rounded once.
#ifndef PROA_DISTRIBUTED_FOLD_H_
#define PROA_DISTRIBUTED_FOLD_H_

#include <cstddef>
#include <vector>

#include "ops/collective/collective.h"
#include "tensor/dtype.h"

namespace proa::inline v0::distributed {

// Throws TypeError unless the combination has a meaning for the dtype: min and
// max of complex numbers and avg of integers have none.
void RequireFoldable(const char* op, ReduceOp reduce, DType dtype);

// Combines one chunk: Start with the elements of ranks 0 and 1, Add those of
// each other rank, Finish. Elements are given in any number of pieces: `at` is
// the first one's number.
class Fold {
 public:
  Fold(ReduceOp reduce, DType dtype, int ranks, size_t chunk_elements);

  void Start(void* out, const void* a, const void* b, size_t at, size_t n);
  void Add(void* out, const void* x, size_t at, size_t n);
  void Finish(void* out, size_t n);

 private:
  const ReduceOp reduce_;
  const DType dtype_;
  const int ranks_;
  const bool wide_;          // in float32, of more than two 16-bit operands
  std::vector<float> sums_;  // where wide_
};

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_FOLD_H_
