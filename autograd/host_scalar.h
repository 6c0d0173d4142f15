// A scalar of the host's own type (a fraction, an interval, a number of many
// digits) as a Tensor that the engine differentiates. The engine adds gradients
// up by the GradOps of the host and never looks inside.
//
//   Tensor x = HostScalar(Fraction{1, 3});
//   SetRequiresGrad(x, true);
//   ... ops of yours, which read HostValue<Fraction>(x) and record nodes ...
//   HostValue<Fraction>(GetGrad(x));
//
// Such a tensor is 0-d, has no storage, and its value never changes; its dtype,
// float64, says only that it can have a gradient. Ops of Proa do not take it.
#ifndef PROA_AUTOGRAD_HOST_SCALAR_H_
#define PROA_AUTOGRAD_HOST_SCALAR_H_

#include <memory>
#include <utility>

#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::autograd {

namespace internal {
template <typename T>
struct HostScalarValue final : TensorExtension {
  explicit HostScalarValue(T v) : value(std::move(v)) {}
  const T value;
};
}  // namespace internal

template <typename T>
Tensor HostScalar(T value) {
  Tensor t = Tensor::Symbolic({}, DType::kFloat64);
  t.impl()->symbol =
      std::make_shared<const internal::HostScalarValue<T>>(std::move(value));
  return t;
}

// Lives as long as the value that it is of. Throws TypeError for a tensor that
// is no HostScalar of a T.
template <typename T>
const T& HostValue(const Tensor& t) {
  const auto* held = t.defined()
                         ? dynamic_cast<const internal::HostScalarValue<T>*>(
                               t.impl()->symbol.get())
                         : nullptr;
  if (held == nullptr) [[unlikely]] {
    ThrowTypeError("host scalar: x holds no value of this type; x is " +
                   Describe(t));
  }
  return held->value;
}

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_HOST_SCALAR_H_
