// Runs programs: each operation enters at step 4 of the walk of an op, with all
// interpreters but the profiler forbidden, and a value is released after its
// last use.
//
//   Executor executor(program, {y_id});
//   std::vector<Tensor> out = executor.Run({{x_id, batch}});
//
// An Executor is immutable after construction: Run may be called from many
// threads at once (programs that change captured tensors need the caller's
// lock).
#ifndef PROA_JIT_EXECUTOR_H_
#define PROA_JIT_EXECUTOR_H_

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

class Executor {
 public:
  // Operations that `fetches` do not depend on are skipped unless they change
  // captured tensors and `prune` is false.
  Executor(std::shared_ptr<const Program> program, std::vector<ValueId> fetches,
           bool prune = false);
  ~Executor();

  // `feeds`: a tensor for each input that is needed. Throws Error naming the
  // input when one is missing or its dtype or shape does not fit the declared
  // one; errors of ops name the operation's line in the program text.
  std::vector<Tensor> Run(
      std::span<const std::pair<ValueId, Tensor>> feeds) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_EXECUTOR_H_
