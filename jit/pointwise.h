// `pointwise`: operations that work element by element, as one operation.
//
//   (%7) = pointwise([%0, %1]) {
//     %3 = argument : [n, 64] float32
//     %4 = argument : [64] float32
//     %5 = multiply(%3, %4)
//     %6 = tanh(%5)
//     return %6
//   }
//
// Large tensors are cut into tiles that fit in the cache, and all operations
// run on one tile before the next one is begun: memory is read once and written
// once, however many operations there are. The elements are those of the
// operations one by one, to the bit: the same kernels compute them.
//
// This is the seam for generated code: whoever compiles a region takes its
// operations from here.
#ifndef PROA_JIT_POINTWISE_H_
#define PROA_JIT_POINTWISE_H_

#include <optional>
#include <span>
#include <vector>

#include "jit/program.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// The op; to be made by passes, over operations that IsPointwise.
const OpDefinition& PointwiseOp();

// Is each element of the one result of `o` a function of the elements of its
// tensors at that place, with broadcasting, and `o` free of effects?
bool IsPointwise(const Program& program, const Operation& o);

// Below so many elements what an op writes is still in a cache when the next
// one reads it, and a call of each is as good (measured: docs/programs.md).
// Open sizes are looked at when the program runs.
inline constexpr int64_t kLeastTiledElements = 1 << 18;

// How tensors that are broadcast to `shape` are cut along its first `prefix`
// dims, taken as one of `count` rows.
struct Tiling {
  Shape shape;
  int prefix = 0;
  int64_t count = 1;
  int64_t row = 1;   // elements
  int64_t rows = 1;  // of a tile
};

// Null where it is not worth it. An input has rows of its own, which may be of
// one element for all of a row, or is the same for every row.
std::optional<Tiling> TilingOf(std::span<const Tensor> inputs);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_POINTWISE_H_
