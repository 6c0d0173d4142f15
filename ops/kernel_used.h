// Which code a call ran, and when it began to: for logs and profiles.
//
//   KernelProbe probe(op, &Clock);      // before the call, on its thread
//   op.call(args, results);
//   probe.implementation();             // "avx512", "brg:avx512_core"
//
// Front doors tell the innermost probe of their op when its kernel starts
// (StartKernel); without one that is a load and a branch.
#ifndef PROA_OPS_KERNEL_USED_H_
#define PROA_OPS_KERNEL_USED_H_

#include <cstdint>

#include "ops/definition.h"
#include "ops/kernel.h"
#include "tensor/dtype.h"
#include "tensor/place.h"

namespace proa::inline v0 {

class KernelProbe {
 public:
  // `clock`: read when the kernel starts; may be null.
  explicit KernelProbe(const OpDefinition& op, int64_t (*clock)() = nullptr);
  ~KernelProbe();
  KernelProbe(const KernelProbe&) = delete;
  KernelProbe& operator=(const KernelProbe&) = delete;

  // Whether the op's own kernel ran; what follows is known only then.
  bool ran() const { return ran_; }
  int64_t start() const { return start_; }
  DType dtype() const { return dtype_; }  // the one that chose the kernel
  // The instruction set that it was compiled for, or what a library chose;
  // "view" for an op that computes nothing, "-" if it did not run. Lives for
  // ever.
  const char* implementation() const;

  // The kernel of `table` for `dtype` starts on this thread.
  static void Tell(const KernelTable& table, Place place, DType dtype);

 private:
  KernelProbe* const outer_;
  const OpDefinition& op_;
  int64_t (*const clock_)();
  bool ran_ = false;
  DType dtype_ = DType::kFloat32;
  Isa isa_ = Isa::kBaseline;
  int64_t start_ = 0;
};

// The innermost probe of this thread; null: none.
extern thread_local constinit KernelProbe* kernel_probe
    __attribute__((tls_model("initial-exec")));

// For front doors, which call the kernel next.
inline KernelContext StartKernel(const KernelTable& table, Place place,
                                 DType dtype) {
  if (kernel_probe != nullptr) [[unlikely]]
    KernelProbe::Tell(table, place, dtype);
  return KernelContext{place};
}

}  // namespace proa::inline v0

#endif  // PROA_OPS_KERNEL_USED_H_
