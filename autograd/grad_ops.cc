#include "autograd/grad_ops.h"

#include <utility>

#include "tensor/error.h"
#include "tensor/memory_order.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::autograd {
namespace {

GradOps installed;

// Can `b` be added into the elements of `a`, of which the caller is the only
// owner?
bool CanAddInto(const Tensor& a, const Tensor& b) {
  return a.layout() == Layout::kStrided && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && b.layout() != Layout::kBlocked &&
         !b.is_symbolic();
}

// The same for the parts of a row-sparse tensor: its storage is that of the
// values.
bool IsSolelyOwnedRowSparse(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  const Tensor& values = ValuesOf(t);
  return impl.use_count() == 1 && impl.layout_data.use_count() == 1 &&
         values.impl()->use_count() == 1 && impl.storage->use_count() == 2 &&
         !impl.storage->read_only();
}

}  // namespace

void InstallGradOps(const GradOps& ops) { installed = ops; }

const GradOps& InstalledGradOps() {
  if (installed.add == nullptr) [[unlikely]] {
    Fail(absl::StatusCode::kFailedPrecondition,
         "backward: no operations on gradients are installed; link "
         "//autograd:ops or call autograd::InstallGradOps");
  }
  return installed;
}

bool IsSolelyOwned(const Tensor& t) {
  const TensorImpl* impl = t.impl();
  if (impl->layout == Layout::kRowSparse) [[unlikely]] {
    return IsSolelyOwnedRowSparse(t);
  }
  if (impl->use_count() != 1 || !impl->storage || impl->storage->read_only() ||
      impl->layout != Layout::kStrided) {
    return false;
  }
  // Otherwise elements may overlap (an expanded scalar).
  if (!impl->contiguous && !LiesIn(t, MemoryOrder::kChannelsLast)) return false;
  // Of a view whose base is gone, the base is kept by the view alone.
  const TensorImpl* root = impl->root.get();
  const bool owns_root = root != nullptr && root->use_count() == 1 &&
                         root->storage == impl->storage;
  return impl->storage->use_count() == (owns_root ? 2 : 1);
}

Tensor AccumulateInto(Tensor& sum, Tensor&& grad, bool create_graph) {
  if (!sum.defined()) {
    sum = std::move(grad);
    return {};
  }
  const GradOps& ops = InstalledGradOps();
  if (!create_graph) {
    if (IsSolelyOwned(sum) && CanAddInto(sum, grad)) {
      ops.add_inplace(sum, grad);
      return {};
    }
    if (IsSolelyOwned(grad) && CanAddInto(grad, sum)) {
      ops.add_inplace(grad, sum);
      return std::exchange(sum, std::move(grad));
    }
  }
  return std::exchange(sum, ops.add(sum, grad));
}

Tensor Unshared(Tensor& grad) {
  // The values of a program are never changed in place, so that sharing is
  // safe.
  if (grad.is_symbolic()) return std::move(grad);
  TensorImpl* impl = grad.impl();
  // A small piece must not keep a large block alive.
  // What a leaf shows is row-major.
  const bool shown = impl->contiguous || impl->layout != Layout::kStrided;
  if (shown && IsSolelyOwned(grad) &&
      impl->storage->bytes() <= 2 * grad.bytes() + 64) {
    impl->is_view = false;
    impl->root = nullptr;
    return std::move(grad);
  }
  const GradOps& ops = InstalledGradOps();
  if (ops.copy != nullptr) return ops.copy(grad);
  return ops.add(ops.zeros_like(grad), grad);
}

}  // namespace proa::inline v0::autograd
