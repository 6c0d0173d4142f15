// Runs programs: each operation enters at step 4 of the walk of an op, with all
// interpreters but the profiler forbidden, and a value is released after its
// last use.
//
//   const auto executor = ExecutorOf(*program, {y_id});
//   std::vector<Tensor> out = executor->Run({{x_id, batch}});
//
// An Executor runs a copy of what it needs of the program, after the default
// passes (pass.h): Run may be called from many threads at once (programs that
// change captured tensors need the caller's lock).
#ifndef PROA_JIT_EXECUTOR_H_
#define PROA_JIT_EXECUTOR_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/liveness.h"
#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

struct Plan;
class IdleEnvironments;
class MemoryPlans;

// How a run takes memory: each block as it comes, or all by a plan for inputs
// of these shapes, which their first run makes (tensor/allocator.h).
enum class Memory { kAsItComes, kPlanned };

class Executor {
 public:
  // Operations that `fetches` do not depend on are left out, but for those that
  // change captured tensors and that `changes` keeps.
  Executor(const Program& program, std::vector<ValueId> fetches,
           Changes changes = Changes::kAll);
  // With these passes, by their names, in place of the default ones. Throws
  // Error for a name that no pass has.
  Executor(const Program& program, std::vector<ValueId> fetches,
           Changes changes, std::span<const std::string_view> passes,
           Memory memory = Memory::kAsItComes);
  ~Executor();

  // `feeds`: a tensor for each input that is needed. Throws Error naming the
  // input when one is missing or its dtype or shape does not fit the declared
  // one; errors of ops name the operation's line in the program text.
  std::vector<Tensor> Run(
      std::span<const std::pair<ValueId, Tensor>> feeds) const;

  // The same calls under the interpreters that are active: gradients flow, and
  // a program that is being recorded takes the operations in. Feeds may be
  // symbolic, and are not checked.
  std::vector<Tensor> Replay(
      std::span<const std::pair<ValueId, Tensor>> feeds) const;

  // The program that runs; values have the numbers of the one it is made of.
  const Program& program() const;

 private:
  std::unique_ptr<const Plan> plan_;
  std::unique_ptr<IdleEnvironments> idle_;
  std::unique_ptr<MemoryPlans> memory_;  // null: as it comes
};

// The executor for these fetches, kept with the program until that is changed.
// Not while the program is recorded by another thread.
std::shared_ptr<const Executor> ExecutorOf(const Program& program,
                                           const std::vector<ValueId>& fetches,
                                           Changes changes = Changes::kAll);

// The passes that ExecutorOf runs over the program from now on, by their names,
// in place of the default ones. Throws Error for a name that no pass has.
void ChoosePasses(const Program& program, std::vector<std::string> passes);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_EXECUTOR_H_
