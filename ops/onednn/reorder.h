// Reorder: copies elements from one oneDNN format to another. What does so is
// compiled once (ops/onednn/primitive_cache.h).
#ifndef PROA_OPS_ONEDNN_REORDER_H_
#define PROA_OPS_ONEDNN_REORDER_H_

#include "oneapi/dnnl/dnnl.hpp"

namespace proa::inline v0::onednn {

// The formats have the same dims; the memory does not overlap. Converts the
// data type too. Counts nothing (ops/onednn/reorders.h).
void Reorder(const dnnl::memory::desc& from, const void* source,
             const dnnl::memory::desc& to, void* target);

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_REORDER_H_
