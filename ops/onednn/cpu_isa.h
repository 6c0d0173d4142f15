// Which instructions oneDNN uses on this machine: those of the CPU, unless
// ONEDNN_MAX_CPU_ISA says less.
#ifndef PROA_OPS_ONEDNN_CPU_ISA_H_
#define PROA_OPS_ONEDNN_CPU_ISA_H_

#include "oneapi/dnnl/dnnl.hpp"

namespace proa::inline v0::onednn {

// Takes a lock of oneDNN's the first time: to be asked at load.
inline bool Has(dnnl::cpu_isa isa) {
  const int wanted = static_cast<int>(isa);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_CPU_ISA_H_
