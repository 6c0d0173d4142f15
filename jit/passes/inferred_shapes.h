// Sizes of a program's values, and which of them are the same in every run.
#ifndef PROA_JIT_PASSES_INFERRED_SHAPES_H_
#define PROA_JIT_PASSES_INFERRED_SHAPES_H_

#include <vector>

#include "jit/program.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit {

// The shapes of all values as shape inference hands them on from inputs and
// captured tensors now: equal named dims (tensor/shape.h) are equal sizes. A
// program that was read from a file has a name of its own at each open dim, and
// one that passes have changed may know more than when it was recorded. Values
// of regions, and what cannot be inferred, have the shapes that they declare.
std::vector<Shape> InferredShapes(const Program& program);

// Gives the values of a program those shapes, so that what a pass puts in and
// what was there may be compared by them.
void InferShapes(Program& program);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_PASSES_INFERRED_SHAPES_H_
