#include "autograd/ops/before_change.h"

#include "autograd/grad_ops.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::autograd {

Tensor BeforeChange(const Tensor& kept, const Tensor& changed) {
  if (!kept.defined() || kept.is_symbolic() || changed.is_symbolic() ||
      !kept.storage() || kept.storage() != changed.storage()) {
    return kept;
  }
  const InterpreterScope scope =
      InterpreterScope::Forbid(kDifferentiate | kAutocast);
  return InstalledGradOps().copy(kept);
}

}  // namespace proa::inline v0::autograd
