// Which code a call ran, for logs and profiles: the instruction set that its
// kernel was compiled for, or what a library chose ("brg:avx512_core").
#ifndef PROA_OPS_KERNEL_USED_H_
#define PROA_OPS_KERNEL_USED_H_

#include <span>

#include "ops/definition.h"
#include "ops/value.h"

namespace proa::inline v0 {

// Before the call, on the thread that makes it ...
void ForgetKernelUsed();
// ... and after it. Lives for ever; "view" for an op that computes nothing, "-"
// where it is not known.
const char* KernelUsed(const OpDefinition& op, std::span<const Value> args,
                       std::span<const Value> results);

}  // namespace proa::inline v0

#endif  // PROA_OPS_KERNEL_USED_H_
