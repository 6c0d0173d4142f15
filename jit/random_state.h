// The state of the default generator as a value of programs, for regions that
// are evaluated a second time (gradients) and must draw the same numbers.
#ifndef PROA_JIT_RANDOM_STATE_H_
#define PROA_JIT_RANDOM_STATE_H_

#include <functional>
#include <memory>
#include <optional>

#include "jit/program.h"
#include "jit/region_op.h"
#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

// [2] int64: the state when the operation runs.
Tensor RecordRandomState(const std::shared_ptr<Program>& program);

// What `f` gives when it draws from `state`; draws after it go on as if it had
// not been called. Recorded if the state is symbolic.
TensorList WithRandomState(const Tensor& state,
                           const std::function<TensorList()>& f);

// Sets the default generator to another state until it ends; nothing for an
// undefined one.
class RandomStateScope {
 public:
  explicit RandomStateScope(const Tensor& state);
  ~RandomStateScope();
  RandomStateScope(const RandomStateScope&) = delete;
  RandomStateScope& operator=(const RandomStateScope&) = delete;

 private:
  std::optional<GeneratorState> before_;
};

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_RANDOM_STATE_H_
