// FloatCopy: a tensor's elements in another floating dtype; for kernels that
// compute float16 in float32, and for weights of another dtype than the data.
#ifndef PROA_OPS_NN_FLOAT_COPY_H_
#define PROA_OPS_NN_FLOAT_COPY_H_

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// `t` itself if it is a dense tensor of `dtype` already, or undefined; else a
// new dense one. Both dtypes are floating point.
Tensor FloatCopy(const Tensor& t, DType dtype);
// Writes the elements of `from` into the dense tensor `to` of the same shape.
void FloatCopyInto(const Tensor& from, const Tensor& to);

[[noreturn]] void RefuseNotFloat(DType t);

// Calls f(TypeTag<T>) for the floating types; others are a mistake of the
// caller, who has not looked at a dtype that inference leaves open.
template <typename F>
void VisitFloat(DType t, F&& f) {
  switch (t) {
    case DType::kFloat16:
      return f(TypeTag<float16>{});
    case DType::kBFloat16:
      return f(TypeTag<bfloat16>{});
    case DType::kFloat32:
      return f(TypeTag<float>{});
    case DType::kFloat64:
      return f(TypeTag<double>{});
    default:
      RefuseNotFloat(t);
  }
}

// What sums of T are kept in.
template <typename T>
struct Accumulate {
  using type = float;
};
template <>
struct Accumulate<double> {
  using type = double;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_FLOAT_COPY_H_
