// What the computations of a thread run with, where it is not what the process
// has: how many threads, which generator, which place.
//
//   Generator own(7);
//   const ExecutionScope scope({.num_threads = 1, .generator = &own});
//   Run(model);  // on this thread alone; its draws touch nobody else's numbers
//
// Other threads see nothing of it, so that two predictors, or a predictor and a
// training step, work side by side with settings of their own. Loops that a
// scope's thread splits (parallel_for, oneDNN's) use at most `num_threads`.
#ifndef PROA_TENSOR_EXECUTION_H_
#define PROA_TENSOR_EXECUTION_H_

#include <optional>

#include "tensor/place.h"

namespace proa::inline v0 {

class Generator;

struct Execution {
  int num_threads = 0;             // 0: as many as outside
  Generator* generator = nullptr;  // of draws on the CPU; null: as outside
  std::optional<Place> place;      // of new tensors; unset: as outside
};

// Nests: what a scope leaves open is what the one around it says.
class ExecutionScope {
 public:
  // Throws Error if num_threads is negative.
  explicit ExecutionScope(const Execution& settings);
  ~ExecutionScope();
  ExecutionScope(const ExecutionScope&) = delete;
  ExecutionScope& operator=(const ExecutionScope&) = delete;

 private:
  Execution now_;
  const Execution* before_;
  int omp_threads_before_ = 0;  // 0: not changed
};

namespace execution_internal {
extern thread_local constinit const Execution* innermost
    __attribute__((tls_model("initial-exec")));
}  // namespace execution_internal

// Of the scopes of this thread; null if there is none.
inline const Execution* CurrentExecution() {
  return execution_internal::innermost;
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_EXECUTION_H_
