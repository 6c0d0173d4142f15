// IterationPlan: how several strided operands of one broadcast shape are walked
// together. Broadcast dims get stride 0, dims of size 1 go, dims are ordered so
// that the output is written in the order of its memory, and neighbours that
// lie one behind the other in every operand become one dim. Most calls end with
// one dim.
//
// Strides are in bytes and may be zero or negative. Not for data-dependent
// access.
#ifndef PROA_OPS_PRIMITIVES_CPU_ITERATION_H_
#define PROA_OPS_PRIMITIVES_CPU_ITERATION_H_

#include <cstdint>
#include <span>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

inline constexpr int kMaxOperands = 6;  // the output and up to five inputs

struct IterationPlan {
  int num_operands = 0;
  int rank = 1;       // at least one dim
  int64_t numel = 0;  // product of `dims`
  // dims[0] is the innermost.
  int64_t dims[kMaxRank];
  int64_t strides[kMaxOperands][kMaxRank];
  char* data[kMaxOperands];

  // True if operand `op` is one contiguous run of elements of `size` bytes.
  bool IsLinear(int op, int64_t size) const {
    for (int d = 0; d < rank; ++d) {
      if (strides[op][d] != size && dims[d] != 1) return false;
      size *= dims[d];
    }
    return true;
  }
};

// Fills `plan` for operands[0] and others that broadcast to its shape.
void PlanIteration(std::span<const Tensor* const> operands,
                   IterationPlan* plan);

// The same from raw parts: `dims` row-major, strides[i][d] in bytes.
void PlanIteration(std::span<const int64_t> dims, int num_operands,
                   char* const* data, const int64_t* const* strides,
                   IterationPlan* plan);

// True if `in` shares memory with `out` other than element by element, so that
// it must be copied before `out` is written.
bool OverlapsPartly(const Tensor& out, const Tensor& in);

// Throws Error if elements of the output (operand 0) share memory.
void RequireWritable(const IterationPlan& plan);

// Position in a plan: the index of each dim and each operand's address.
struct IterationCursor {
  int64_t index[kMaxRank];
  char* data[kMaxOperands];

  // Moves to flat position `position` (dims[0] fastest).
  void Seek(const IterationPlan& plan, int64_t position);
  // Moves `n` elements on, where n does not pass the end of the innermost dim.
  void Advance(const IterationPlan& plan, int64_t n);
};

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_ITERATION_H_
