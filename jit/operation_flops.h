// What the operations of a program cost, in floating point operations: by the
// sizes that it was recorded with, without running it.
#ifndef PROA_JIT_OPERATION_FLOPS_H_
#define PROA_JIT_OPERATION_FLOPS_H_

#include <vector>

#include "jit/program.h"

namespace proa::inline v0::jit {

// One number for each operation outside of regions, by what its op says
// (ops/profile.h). A region counts once, of a branch both ways. Tensors of
// unknown sizes count as if they were not there.
std::vector<double> FlopsOfOperations(const Program& program);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_OPERATION_FLOPS_H_
