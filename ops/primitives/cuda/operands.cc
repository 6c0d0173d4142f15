#include "ops/primitives/cuda/operands.h"

#include <span>

#include "ops/elementwise/cast_ops.h"
#include "ops/primitives/cuda/plan.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::cuda {

Operands::Operands(std::initializer_list<const Tensor*> tensors,
                   std::initializer_list<DType> dtypes) {
  const Tensor* operands[cpu::kMaxOperands];
  const Tensor& out = **tensors.begin();
  int n = 0;
  for (const Tensor* t : tensors) {
    operands[n] = t;
    const bool convert =
        n > 0 && dtypes.size() > 0 && t->dtype() != dtypes.begin()[n];
    if (convert) {
      const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
      copies_[n] = cast(*t, dtypes.begin()[n]);
      operands[n] = &copies_[n];
    }
    if (t->place().is_cpu()) {
      host |= uint32_t{1} << n;
    } else if (n > 0 && !convert && cpu::OverlapsPartly(out, *t)) {
      copies_[n] = CopyTo(*t, t->place());
      operands[n] = &copies_[n];
    }
    ++n;
  }
  const std::span<const Tensor* const> all(operands, static_cast<size_t>(n));
  cpu::PlanIteration(all, &plan);
  if (plan.rank > kMaxDims) {
    for (int i = 1; i < n; ++i) {
      copies_[i] = Contiguous(*operands[i]);
      operands[i] = &copies_[i];
    }
    cpu::PlanIteration(all, &plan);
    PROA_REQUIRE(plan.rank <= kMaxDims, "gpu: operands with more than ",
                 kMaxDims, " dims that cannot be merged; reshape them first");
  }
  cpu::RequireWritable(plan);
}

}  // namespace proa::inline v0::ops::cuda
