#include "autograd/ops/formula_support.h"

#include "absl/strings/str_cat.h"
#include "autograd/grad_ops.h"
#include "autograd/inplace.h"
#include "autograd/region.h"
#include "ops/creation/full_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/elementwise/unary_ops.h"
#include "ops/front_door.h"
#include "ops/manipulation/strided_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"
#include "ops/symbolic_view.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"

namespace proa::inline v0::autograd {

void AddOutputs(const Tensor& output, std::vector<OutputMeta>* metas) {
  metas->push_back({ops::ShapeOf(output), output.dtype(), output.place()});
}

void AddOutputs(const std::vector<Tensor>& outputs,
                std::vector<OutputMeta>* metas) {
  for (const Tensor& t : outputs) AddOutputs(t, metas);
}

Tensor GradOrZeros(const Tensor& grad, const OutputMeta& meta) {
  if (grad.defined() || !IsDifferentiable(meta.dtype)) return grad;
  return ops::full(meta.shape, Scalar(int64_t{0}), meta.dtype, meta.place);
}

std::vector<Tensor> GradsOrZeros(std::span<const Tensor> grads,
                                 std::span<const OutputMeta> metas) {
  std::vector<Tensor> out;
  out.reserve(metas.size());
  for (size_t i = 0; i < metas.size(); ++i) {
    out.push_back(GradOrZeros(grads[i], metas[i]));
  }
  return out;
}

void SetHistories(const Tensor& output, const IntrusivePtr<Node>& node,
                  uint32_t* slot) {
  SetHistory(output, node, (*slot)++);
}

void SetHistories(const std::vector<Tensor>& outputs,
                  const IntrusivePtr<Node>& node, uint32_t* slot) {
  for (const Tensor& t : outputs) SetHistory(t, node, (*slot)++);
}

Tensor ConformSlow(const Tensor& grad, DType dtype) {
  const Tensor g =
      IsComplex(grad.dtype()) && !IsComplex(dtype) ? ops::real(grad) : grad;
  return g.dtype() == dtype ? g : ops::cast(g, dtype);
}

Tensor PromotedSlow(const Tensor& kept, DType dtype) {
  return ops::cast(kept, dtype);
}

bool AnyNeeded(const Node& node, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    if (node.needs_input_grad(i)) return true;
  }
  return false;
}

std::vector<Tensor> Conform(std::vector<Tensor> grads,
                            std::span<const DType> dtypes) {
  for (size_t i = 0; i < grads.size() && i < dtypes.size(); ++i) {
    grads[i] = Conform(std::move(grads[i]), dtypes[i]);
  }
  return grads;
}

std::vector<DType> DTypesOf(std::span<const Tensor> inputs) {
  std::vector<DType> out;
  out.reserve(inputs.size());
  for (const Tensor& t : inputs) out.push_back(t.dtype());
  return out;
}

void AssignGrads(const Node& node, std::vector<Tensor> grads, int first,
                 int count, std::span<Tensor> input_grads) {
  PROA_REQUIRE(static_cast<int>(grads.size()) == count, node.name(),
               ": the gradient formula gave ", grads.size(), " tensors for ",
               count, " inputs");
  for (int i = 0; i < count; ++i) {
    if (node.needs_input_grad(first + i)) {
      input_grads[first + i] = std::move(grads[i]);
    }
  }
}

std::vector<SavedTensor> SaveAll(std::span<const Tensor> inputs) {
  std::vector<SavedTensor> out;
  out.reserve(inputs.size());
  for (const Tensor& t : inputs) out.emplace_back(t);
  return out;
}

std::vector<Tensor> GetAll(std::span<const SavedTensor> saved, Node& owner) {
  std::vector<Tensor> out;
  out.reserve(saved.size());
  for (const SavedTensor& s : saved) out.push_back(s.Get(owner));
  return out;
}

void Visit(const SavedVisitor& visit, const char* name,
           const std::vector<SavedTensor>& saved) {
  for (const SavedTensor& s : saved) visit(name, s);
}

std::string NameOf(int i, std::initializer_list<NamedInputs> inputs) {
  for (const NamedInputs& input : inputs) {
    const int count = input.count < 0 ? 1 : input.count;
    if (i < count) {
      return input.count < 0 ? input.name
                             : absl::StrCat(input.name, "[", i, "]");
    }
    i -= count;
  }
  return {};
}

namespace {

Tensor Add(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
void AddInplace(Tensor& a, const Tensor& b) { ops::add_(a, b); }
Tensor OnesLike(const Tensor& t) {
  return ops::full(ops::ShapeOf(t), Scalar(int64_t{1}), t.dtype(), t.place());
}
Tensor Copy(const Tensor& t) { return ops::assign(t); }
Tensor Move(const Tensor& t, DType dtype, Place place) {
  const Tensor moved = ops::cast(t, dtype);
  return place == t.place() ? moved : CopyTo(moved, place);
}
Tensor ZerosLike(const Tensor& t) {
  return ops::full(ops::ShapeOf(t), Scalar(int64_t{0}), t.dtype(), t.place());
}
NonFiniteCount CountNonFinite(const Tensor& t) {
  const auto count = [](const Tensor& where) {
    return ops::sum(where, {}, DType::kInt64, false).item<int64_t>();
  };
  return {count(ops::isnan(t)), count(ops::isinf(t))};
}

// Regions in elements of the real type of a complex tensor lie in its pairs.
bool IsOfParts(const Region& region, DType whole) {
  return region.dtype != whole;
}

std::span<const int64_t> StridesOf(const Region& region) {
  return {region.strides.data(), region.strides.size()};
}

Tensor ReadRegion(const Tensor& t, const Region& region) {
  const Tensor whole = IsOfParts(region, t.dtype()) ? ops::as_real(t) : t;
  return ops::as_strided(whole, region.shape, StridesOf(region), region.offset);
}

Tensor ClearRegion(const Tensor& t, const Region& region) {
  const bool parts = IsOfParts(region, t.dtype());
  const Tensor whole = parts ? ops::as_real(t) : t;
  const Tensor cleared =
      ops::as_strided_set(whole, ops::ScalarLike(whole, Scalar(int64_t{0})),
                          region.shape, StridesOf(region), region.offset);
  return parts ? ops::as_complex(cleared) : cleared;
}

Tensor PlaceRegion(const Tensor& value, const Region& region,
                   const TensorMeta& whole) {
  const bool parts = IsOfParts(region, whole.dtype);
  Shape shape = whole.shape;
  if (parts) shape.push_back(2);
  const Tensor placed =
      ops::as_strided_grad(value, shape, StridesOf(region), region.offset);
  return parts ? ops::as_complex(placed) : placed;
}

void RenewSymbolic(const Tensor& view) {
  if (InstalledSymbolicViews().renew != nullptr) {
    InstalledSymbolicViews().renew(view);
  }
}

const bool installed = [] {
  InstallGradOps({.add = &Add,
                  .add_inplace = &AddInplace,
                  .ones_like = &OnesLike,
                  .zeros_like = &ZerosLike,
                  .copy = &Copy,
                  .move = &Move,
                  .count_non_finite = &CountNonFinite,
                  .read_region = &ReadRegion,
                  .clear_region = &ClearRegion,
                  .place_region = &PlaceRegion,
                  .renew_symbolic = &RenewSymbolic});
  ops::InstallAssignHistory({&CheckInplace, &AssignHistory});
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::autograd
