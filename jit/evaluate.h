// Evaluation of a block: each operation is the op's own front door on the
// values at hand. One evaluator serves the executor (concrete tensors,
// interpreters forbidden), the replay of a loaded program in eager mode
// (gradients flow) and the replay of a region while another program is recorded
// (symbolic tensors).
#ifndef PROA_JIT_EVALUATE_H_
#define PROA_JIT_EVALUATE_H_

#include <vector>

#include "jit/environment.h"
#include "jit/prepared_block.h"
#include "jit/program.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// An environment with the captured tensors in place.
Environment MakeEnvironment(const Program& program);

// Runs the operations of `block`. `release`, if given, applies to this block
// only, and is the same in each call with this environment. Errors of ops gain
// the operation's text.
void Evaluate(const Program& program, const Block& block, Environment& env,
              const ReleasePlan* release = nullptr);

// While it lives, operations of this thread that change captured tensors are
// passed over: they took place when the program ran, and this is another look.
class WithoutChanges {
 public:
  WithoutChanges();
  ~WithoutChanges();
  WithoutChanges(const WithoutChanges&) = delete;
  WithoutChanges& operator=(const WithoutChanges&) = delete;

 private:
  bool before_;
};

// Who looks at a program while it runs: its calls come in the order of the
// operations, those of regions too, on the thread that evaluates.
class Watch {
 public:
  virtual ~Watch() = default;
  // `env` has what the operation reads, and after it what it made.
  virtual void Before(const Program& program, const Operation& o,
                      const Environment& env) = 0;
  virtual void After(const Program& program, const Operation& o,
                     const Environment& env) = 0;
};

// Does somebody look at what this thread evaluates?
bool IsWatched();

// While it lives, what this thread evaluates is shown to `watch`, if that is
// not null. Not what it evaluates within a call of the watch itself.
class WatchScope {
 public:
  explicit WatchScope(Watch* watch);
  ~WatchScope();
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;

 private:
  Watch* before_;
};

// The returns of a region after evaluating it with these arguments.
std::vector<Tensor> EvaluateRegion(const Program& program, const Block& region,
                                   std::vector<Tensor> arguments,
                                   Environment& env);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_EVALUATE_H_
