// What generated grad nodes are made of, beyond nodes and saved tensors.
// Included by generated sources only.
#ifndef PROA_AUTOGRAD_OPS_FORMULA_SUPPORT_H_
#define PROA_AUTOGRAD_OPS_FORMULA_SUPPORT_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "ops/int_array.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

// What a missing gradient of an output must look like.
struct OutputMeta {
  IntArray shape;
  DType dtype = DType::kFloat32;
  Place place;
};
void AddOutputs(const Tensor& output, std::vector<OutputMeta>* metas);
void AddOutputs(const std::vector<Tensor>& outputs,
                std::vector<OutputMeta>* metas);

// Gradients of outputs that the result did not depend on are zeros.
Tensor GradOrZeros(const Tensor& grad, const OutputMeta& meta);
std::vector<Tensor> GradsOrZeros(std::span<const Tensor> grads,
                                 std::span<const OutputMeta> metas);

void SetHistories(const Tensor& output, const IntrusivePtr<Node>& node,
                  uint32_t* slot);
void SetHistories(const std::vector<Tensor>& outputs,
                  const IntrusivePtr<Node>& node, uint32_t* slot);

// `grad` as a gradient of an input of type `dtype`: cast back from the promoted
// type; of a complex gradient of a real input, the real part.
Tensor ConformSlow(const Tensor& grad, DType dtype);
inline Tensor Conform(Tensor grad, DType dtype) {
  if (!grad.defined() || grad.dtype() == dtype) [[likely]]
    return grad;
  return ConformSlow(grad, dtype);
}

// A kept argument of an op that promotes, as the op computed with it: formulas
// over integers or over the narrower of two types would lose what the result
// has.
Tensor PromotedSlow(const Tensor& kept, DType dtype);
inline Tensor Promoted(Tensor kept, DType dtype) {
  if (!kept.defined() || kept.dtype() == dtype) [[likely]]
    return kept;
  return PromotedSlow(kept, dtype);
}

inline bool AnyRequiresGrad(const Tensor& t) { return RequiresGrad(t); }
inline bool AnyRequiresGrad(std::span<const Tensor> ts) {
  for (const Tensor& t : ts) {
    if (RequiresGrad(t)) return true;
  }
  return false;
}

// The same for the gradients of a Tensor[] parameter, whose inputs had
// `dtypes`.
std::vector<Tensor> Conform(std::vector<Tensor> grads,
                            std::span<const DType> dtypes);
std::vector<DType> DTypesOf(std::span<const Tensor> inputs);

// Of the inputs [first, first + count), those of one Tensor[] parameter.
bool AnyNeeded(const Node& node, int first, int count);
void AssignGrads(const Node& node, std::vector<Tensor> grads, int first,
                 int count, std::span<Tensor> input_grads);
std::vector<SavedTensor> SaveAll(std::span<const Tensor> inputs);
std::vector<Tensor> GetAll(std::span<const SavedTensor> saved, Node& owner);

inline void Release(SavedTensor& t) { t.Release(); }
inline void Release(std::vector<SavedTensor>& ts) {
  for (SavedTensor& t : ts) t.Release();
}

inline void Visit(const SavedVisitor& visit, const char* name,
                  const SavedTensor& saved) {
  visit(name, saved);
}
void Visit(const SavedVisitor& visit, const char* name,
           const std::vector<SavedTensor>& saved);

// The name of input `i`, of inputs that are single (count -1) or lists:
// "x", "x[3]".
struct NamedInputs {
  const char* name;
  int count;
};
std::string NameOf(int i, std::initializer_list<NamedInputs> inputs);

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_OPS_FORMULA_SUPPORT_H_
