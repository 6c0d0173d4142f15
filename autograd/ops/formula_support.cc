#include "autograd/ops/formula_support.h"

#include "autograd/grad_ops.h"
#include "ops/creation/creation_ops.h"
#include "ops/elementwise/elementwise_ops.h"
#include "ops/front_door.h"
#include "tensor/error.h"

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

bool AnyNeeded(const Node& node, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    if (node.needs_input_grad(i)) return true;
  }
  return false;
}

std::vector<Tensor> Conform(std::vector<Tensor> grads, std::span<const DType> dtypes) {
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

namespace {

Tensor Add(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
void AddInplace(Tensor& a, const Tensor& b) { ops::add_(a, b); }
Tensor OnesLike(const Tensor& t) {
  return ops::full(ops::ShapeOf(t), Scalar(int64_t{1}), t.dtype(), t.place());
}
Tensor Copy(const Tensor& t) { return ops::assign(t); }
Tensor ZerosLike(const Tensor& t) {
  return ops::full(ops::ShapeOf(t), Scalar(int64_t{0}), t.dtype(), t.place());
}

const bool installed = [] {
  InstallGradOps({&Add, &AddInplace, &OnesLike, &ZerosLike, &Copy});
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::autograd
