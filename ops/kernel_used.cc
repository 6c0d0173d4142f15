#include "ops/kernel_used.h"

namespace proa::inline v0 {

thread_local constinit KernelProbe* kernel_probe
    __attribute__((tls_model("initial-exec"))) = nullptr;

KernelProbe::KernelProbe(const OpDefinition& op, int64_t (*clock)())
    : outer_(kernel_probe), op_(op), clock_(clock) {
  kernel_probe = this;
  chosen_implementation = nullptr;
}

KernelProbe::~KernelProbe() {
  kernel_probe = outer_;
  // Several observers may look at one call; only the innermost was told.
  if (!ran_ || outer_ == nullptr || outer_->op_.kernels != op_.kernels) return;
  if (outer_->ran_) return;
  outer_->ran_ = true;
  outer_->dtype_ = dtype_;
  outer_->isa_ = isa_;
  outer_->start_ = start_;
}

void KernelProbe::Tell(const KernelTable& table, Place place, DType dtype) {
  KernelProbe& probe = *kernel_probe;
  // Of the kernels that run while the op does - casts of its arguments, ops
  // that its kernel calls - the first of its own.
  if (probe.op_.kernels != &table || probe.ran_) return;
  probe.ran_ = true;
  probe.dtype_ = dtype;
  probe.isa_ = table.IsaOf(place.kind, dtype);
  // What casts before it ran is not its.
  chosen_implementation = nullptr;
  if (probe.clock_ != nullptr) probe.start_ = probe.clock_();
}

const char* KernelProbe::implementation() const {
  if ((op_.traits & kTraitView) != 0) return "view";
  if (!ran_) return "-";
  return chosen_implementation != nullptr ? chosen_implementation : Name(isa_);
}

}  // namespace proa::inline v0
