// Functions of the formulas by which schemas say what a call costs (key
// `flops`; ops/schema/flops.py). Over boxed arguments and results, for
// generated code.
#ifndef PROA_OPS_FLOPS_H_
#define PROA_OPS_FLOPS_H_

#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::flops {

inline const Tensor* TensorOf(const Value& v) {
  const Tensor* t = std::get_if<Tensor>(&v);
  return t != nullptr && t->defined() && !t->is_symbolic() ? t : nullptr;
}

inline bool IsGiven(const Value& v) { return TensorOf(v) != nullptr; }
// 0 where the divisor is.
inline double Quotient(double a, double b) { return b != 0 ? a / b : 0; }

// Elements; 0 for None.
inline double Numel(const Value& v) {
  const Tensor* t = TensorOf(v);
  return t != nullptr ? static_cast<double>(t->numel()) : 0;
}
// Of dim `i`, from the end if negative; 0 where there is none.
inline double Size(const Value& v, int i) {
  const Tensor* t = TensorOf(v);
  if (t == nullptr) return 0;
  if (i < 0) i += t->rank();
  return i >= 0 && i < t->rank() ? static_cast<double>(t->size(i)) : 0;
}
// Of a matrix (the last two dims); of a vector its length.
inline double Rows(const Value& v) {
  const Tensor* t = TensorOf(v);
  return t != nullptr && t->rank() < 2 ? Numel(v) : Size(v, -2);
}
inline double Columns(const Value& v) {
  const Tensor* t = TensorOf(v);
  return t != nullptr && t->rank() < 2 ? Numel(v) : Size(v, -1);
}

}  // namespace proa::inline v0::ops::flops

#endif  // PROA_OPS_FLOPS_H_
