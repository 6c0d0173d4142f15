#include "ops/elementwise/comparison_kernels.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/reduction/extremum_ops.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::cpu {

// An op of its own, and no composite: whether the shapes agree may be known
// only when a program runs.
void EqualAll(const KernelContext&, const Tensor& x, const Tensor& y,
              Tensor* out) {
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  *out->data<bool>() = x.shape() == y.shape() && all(equal(x, y)).item<bool>();
}

}  // namespace proa::inline v0::ops::cpu
