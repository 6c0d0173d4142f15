// In-place changes of symbolic views. A symbolic view knows how it comes about
// from the value of its root (TensorImpl::root), which the recording room
// keeps: it says here how a change of the view becomes one of the root, and how
// a view learns that its root has another value; and which elements of a
// symbolic tensor of sizes are known. Null while nothing records.
#ifndef PROA_OPS_SYMBOLIC_VIEW_H_
#define PROA_OPS_SYMBOLIC_VIEW_H_

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace proa::inline v0 {

struct SymbolicViews {
  // `x`, a symbolic view, is changed to `value` by `op`; so is the part of its
  // root.
  void (*write)(const char* op, const Tensor& x, const Tensor& value) = nullptr;
  // Rebinds a symbolic view whose root has another value by now; else nothing.
  void (*renew)(const Tensor& view) = nullptr;
  // The elements of `sizes`, a symbolic tensor of as many sizes, as far as they
  // are known (kUnknownDim otherwise).
  void (*known_sizes)(const Tensor& sizes, std::span<int64_t> out) = nullptr;
};

void InstallSymbolicViews(const SymbolicViews& functions);
const SymbolicViews& InstalledSymbolicViews();

}  // namespace proa::inline v0

#endif  // PROA_OPS_SYMBOLIC_VIEW_H_
