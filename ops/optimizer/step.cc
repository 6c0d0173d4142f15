#include "ops/optimizer/step.h"

#include "ops/optimizer/lists.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::optimizer {
namespace {

// Rows that are not held are gone through in runs of this many elements.
constexpr int64_t kZeros = 1024;

}  // namespace

StepWork::StepWork(const char* op, std::span<const Tensor> params,
                   const StepGradients& gradients, StepRows rows)
    : params_(params),
      grads_(gradients.grads),
      rounded_(gradients.rounded),
      scale_(gradients.scale),
      mode_(rows) {
  const std::span<const Tensor> grads = grads_;
  CheckGradients(op, params, grads);
  CheckRounded(op, params, rounded_);
  starts_.reserve(params.size() + 1);
  starts_.push_back(0);
  for (size_t i = 0; i < params.size(); ++i) {
    int64_t work = params[i].numel();
    if (IsRowSparse(grads[i]) && work > 0) {
      if (rows_.empty()) rows_.resize(params.size());
      Rows& r = rows_[i];
      r.merged = MergeRows(grads[i]);
      const Tensor& held = RowsOf(r.merged);
      r.rows = {held.data<int64_t>(), static_cast<size_t>(held.numel())};
      r.values = ValuesOf(r.merged).data<char>();
      r.inner = work / params[i].size(0);
      if (mode_ == StepRows::kHeld) work = held.numel() * r.inner;
    }
    starts_.push_back(starts_.back() + work);
  }
  if (!rows_.empty() && mode_ == StepRows::kAll) {
    zero_count_ = kZeros;
    zeros_.resize(kZeros * sizeof(double));
  }
}

}  // namespace proa::inline v0::ops::optimizer
