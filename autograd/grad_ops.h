// The few operations on gradients that the engine needs, and the one rule about
// who may write into a gradient. Installed by autograd:ops, or by a host that
// brings its own; this room knows no op.
#ifndef PROA_AUTOGRAD_GRAD_OPS_H_
#define PROA_AUTOGRAD_GRAD_OPS_H_

#include <cstdint>

#include "autograd/region.h"
#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

struct NonFiniteCount {
  int64_t nan = 0;
  int64_t inf = 0;
};

// Each must work for what the host differentiates: with grad enabled it records
// its own history, for symbolic tensors it records the op in the program.
struct GradOps {
  Tensor (*add)(const Tensor& a, const Tensor& b) = nullptr;
  // In place, when the engine alone owns `a` and no higher order is asked for.
  void (*add_inplace)(Tensor& a, const Tensor& b) = nullptr;
  Tensor (*ones_like)(const Tensor& t) = nullptr;
  Tensor (*zeros_like)(const Tensor& t) = nullptr;
  // A contiguous copy with memory of its own. If null, zeros plus `t`.
  Tensor (*copy)(const Tensor& t) = nullptr;
  // Needed where leaves change their dtype or place (moved_leaf.h).
  Tensor (*move)(const Tensor& t, DType dtype, Place place) = nullptr;
  // Of a tensor that is not symbolic, for anomaly mode. If null, nothing is
  // checked.
  NonFiniteCount (*count_non_finite)(const Tensor& t) = nullptr;

  // For in-place changes of views; a host without views leaves them out. The
  // elements of `t` in row-major order are the memory that a region lies in.
  // The elements of a region, with its shape.
  Tensor (*read_region)(const Tensor& t, const Region& region) = nullptr;
  // `t` with zeros in the region.
  Tensor (*clear_region)(const Tensor& t, const Region& region) = nullptr;
  // The adjoint of read_region: zeros of a shape and dtype with `value` added
  // at the places of the region, which may overlap itself.
  Tensor (*place_region)(const Tensor& value, const Region& region,
                         const TensorMeta& whole) = nullptr;
  // Gives a symbolic view whose root has another value by now its value of now.
  void (*renew_symbolic)(const Tensor& view) = nullptr;
};

// Call once, before the first backward. Not synchronized.
void InstallGradOps(const GradOps& ops);
// Throws Error kFailedPrecondition if nothing is installed.
const GradOps& InstalledGradOps();

// True if nobody but `t` sees its elements, and an op may overwrite them: one
// handle, one description, memory that is neither shared nor read-only. Of a
// row-sparse tensor: its values.
bool IsSolelyOwned(const Tensor& t);

// sum += grad, where an undefined sum is zero. In place if allowed and safe.
// Either may be row-sparse; a row-sparse one is added into a dense one in
// place. Returns what `sum` held if it was replaced, and may leave `grad` as it
// was: a caller with a lock drops both after it.
Tensor AccumulateInto(Tensor& sum, Tensor&& grad, bool create_graph);

// `grad` itself (then moved from) or a copy, such that no other gradient shares
// its elements.
Tensor Unshared(Tensor& grad);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_GRAD_OPS_H_
