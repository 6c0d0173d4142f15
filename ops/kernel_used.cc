#include "ops/kernel_used.h"

#include "ops/kernel.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

const Tensor* FirstTensor(std::span<const Value> values) {
  for (const Value& v : values) {
    const Tensor* t = std::get_if<Tensor>(&v);
    if (const auto* ts = std::get_if<std::vector<Tensor>>(&v);
        ts != nullptr && !ts->empty()) {
      t = ts->data();
    }
    if (t != nullptr && t->defined() && !t->is_symbolic()) return t;
  }
  return nullptr;
}

}  // namespace

void ForgetKernelUsed() { chosen_implementation = nullptr; }

const char* KernelUsed(const OpDefinition& op, std::span<const Value> args,
                       std::span<const Value> results) {
  if (chosen_implementation != nullptr) return chosen_implementation;
  if ((op.traits & kTraitView) != 0) return "view";
  if (op.kernels == nullptr) return "-";
  // The dtype that decided is that of a result or, of comparisons and the like,
  // of an argument; all dtypes of an op are compiled for the same sets.
  for (const Tensor* t : {FirstTensor(results), FirstTensor(args)}) {
    if (t == nullptr) continue;
    if (op.kernels->Find(t->place().kind, t->dtype()) != nullptr) {
      return Name(op.kernels->IsaOf(t->place().kind, t->dtype()));
    }
  }
  return "-";
}

}  // namespace proa::inline v0
