// The oneDNN CPU engine and stream of the process.
//
// For kernels only: this header brings in oneDNN, so no header outside of
// ops/onednn and no public header may include it. Primitives run on the one
// OpenMP pool that parallel_for uses too.
#ifndef PROA_OPS_ONEDNN_ENGINE_H_
#define PROA_OPS_ONEDNN_ENGINE_H_

#include "oneapi/dnnl/dnnl.hpp"

namespace proa::inline v0::onednn {

// Both are made at first use and never destroyed: worker threads may outlive
// static destruction. Thread-safe; a CPU stream holds no state between calls.
const dnnl::engine& Engine();
const dnnl::stream& Stream();

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_ENGINE_H_
