// Operators in the reference's source form, which "paddle/extension.h" compiles
// as it is: macros, names and types of its guides, of 2.0 to 2.5.
#include <iostream>
#include <vector>

#include "paddle/extension.h"

#define CHECK_INPUT(x) \
  PD_CHECK(x.place() == paddle::PlaceType::kCPU, #x " must be a CPU Tensor.")

template <typename data_t>
void leaky_forward(const data_t* x, data_t* out, int64_t numel, float slope) {
  for (int64_t i = 0; i < numel; ++i)
    out[i] = x[i] > static_cast<data_t>(0) ? x[i]
                                           : static_cast<data_t>(slope * x[i]);
}

std::vector<paddle::Tensor> LeakyForward(const paddle::Tensor& x, float slope) {
  CHECK_INPUT(x);
  auto out = paddle::Tensor(paddle::PlaceType::kCPU);
  out.reshape(x.shape());
  PD_DISPATCH_FLOATING_TYPES(x.type(), "leaky_forward", ([&] {
                               leaky_forward<data_t>(
                                   x.data<data_t>(),
                                   out.mutable_data<data_t>(x.place()),
                                   x.size(), slope);
                             }));
  return {out};
}

std::vector<paddle::Tensor> LeakyBackward(const paddle::Tensor& x,
                                          const paddle::Tensor& out,
                                          const paddle::Tensor& grad_out,
                                          float slope) {
  CHECK_INPUT(x);
  auto grad_x = paddle::empty(x.shape(), x.dtype(), x.place());
  PD_DISPATCH_FLOATING_TYPES(out.type(), "leaky_backward", ([&] {
                               const data_t* in = x.data<data_t>();
                               const data_t* g = grad_out.data<data_t>();
                               data_t* to = grad_x.mutable_data<data_t>();
                               for (int64_t i = 0; i < x.numel(); ++i)
                                 to[i] =
                                     in[i] > static_cast<data_t>(0)
                                         ? g[i]
                                         : static_cast<data_t>(slope * g[i]);
                             }));
  return {grad_x};
}

std::vector<std::vector<int64_t>> LeakyInferShape(std::vector<int64_t> x_shape,
                                                  float slope) {
  return {x_shape};
}
std::vector<paddle::DataType> LeakyInferDtype(paddle::DataType x_dtype) {
  return {x_dtype};
}

PD_BUILD_OP(pd_leaky)
    .Inputs({"X"})
    .Outputs({"Out"})
    .Attrs({"slope: float"})
    .SetKernelFn(PD_KERNEL(LeakyForward))
    .SetInferShapeFn(PD_INFER_SHAPE(LeakyInferShape))
    .SetInferDtypeFn(PD_INFER_DTYPE(LeakyInferDtype));

PD_BUILD_GRAD_OP(pd_leaky)
    .Inputs({"X", "Out", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .Attrs({"slope: float"})
    .SetKernelFn(PD_KERNEL(LeakyBackward));

// Tanh of the reference's guide: three ops, in order.
std::vector<paddle::Tensor> TanhForward(const paddle::Tensor& x) {
  return {paddle::tanh(x)};
}
std::vector<paddle::Tensor> TanhBackward(const paddle::Tensor& out,
                                         const paddle::Tensor& grad_out) {
  return {grad_out *
          (paddle::ones(out.shape(), out.dtype(), out.place()) - out * out)};
}
std::vector<paddle::Tensor> TanhDoubleBackward(const paddle::Tensor& out,
                                               const paddle::Tensor& ddx,
                                               const paddle::Tensor& dout) {
  PADDLE_ENFORCE_EQ(out.is_cpu(), true,
                    common::errors::InvalidArgument("out lies on %d", 1));
  auto one = paddle::full(out.shape(), 1, out.dtype(), out.place());
  return {paddle::scale(dout * out * ddx, -2.0),
          ddx * (one - paddle::multiply(out, out))};
}
std::vector<std::vector<int64_t>> TanhBackwardInferShape(
    const std::vector<int64_t>& out, const std::vector<int64_t>&) {
  return {out};
}
PD_BUILD_OP(pd_tanh).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(
    PD_KERNEL(TanhForward));
PD_BUILD_GRAD_OP(pd_tanh)
    .Inputs({"Out", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .SetKernelFn(PD_KERNEL(TanhBackward))
    .SetInferShapeFn(PD_INFER_SHAPE(TanhBackwardInferShape));
PD_BUILD_DOUBLE_GRAD_OP(pd_tanh)
    .Inputs({"Out", paddle::Grad(paddle::Grad("X")), paddle::Grad("Out")})
    .Outputs({paddle::New(paddle::Grad("Out")),
              paddle::Grad(paddle::Grad("Out"))})
    .SetKernelFn(PD_KERNEL(TanhDoubleBackward));

// In place, of a list.
void AddVec(std::vector<paddle::Tensor>& xs, const paddle::Tensor& y) {
  for (auto& x : xs) {
    PD_DISPATCH_FLOATING_TYPES(x.type(), "add_vec", ([&] {
                                 for (int64_t i = 0; i < x.numel(); ++i)
                                   x.data<data_t>()[i] += y.data<data_t>()[i];
                               }));
  }
}
PD_BUILD_OP(pd_add_vec)
    .Inputs({paddle::Vec("X"), "Y"})
    .Outputs({paddle::Vec("Out")})
    .SetInplaceMap({{paddle::Vec("X"), paddle::Vec("Out")}})
    .SetKernelFn(PD_KERNEL(AddVec));

// Results by pointers, as 2.3 had them.
void CopyOut(const paddle::Tensor& x, paddle::Tensor* out) {
  out->reshape(x.shape());
  PD_DISPATCH_FLOATING_AND_COMPLEX_TYPES(
      x.type(), "copy_out", ([&] {
        data_t* to = out->mutable_data<data_t>(x.place());
        std::copy(x.data<data_t>(), x.data<data_t>() + x.size(), to);
      }));
}
PD_BUILD_OP("pd_copy_out")
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(CopyOut));

std::vector<paddle::Tensor> Linear(const paddle::Tensor& x,
                                   const paddle::Tensor& weight,
                                   const paddle::Tensor& bias) {
  return {
      paddle::experimental::add(paddle::experimental::matmul(x, weight), bias)};
}
PD_BUILD_OP(pd_linear)
    .Inputs({"X", "Weight", "Bias"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(Linear));

std::vector<paddle::Tensor> Methods(const paddle::Tensor& x) {
  PD_CHECK(x.defined() && x.initialized() && x.is_dense_tensor() &&
           !x.is_gpu());
  PD_CHECK(x.slice(0, 1).shape()[0] == 1, "slice");
  auto copied = x.copy_to(paddle::CPUPlace(), true);
  PD_CHECK(copied.data<float>() != x.data<float>(),
           "a copy has memory of its own");
  PD_CHECK((x.copy_to<float>(x.place()).numel() == x.size()), "copy_to");
  auto half = x.cast(paddle::DataType::FLOAT16);
  PD_CHECK(half.dtype() == paddle::DataType::FLOAT16, "cast");
  PD_CHECK(static_cast<float>(half.data<paddle::float16>()[0]) == 1.5f, "half");
  PD_CHECK(static_cast<float>(paddle::float16(6.1e-5f)) > 6.0e-5f &&
               paddle::float16(1e6f).x == 0x7c00,
           "limits");
  paddle::complex<float> c(1, 2);
  PD_CHECK((c * c).real == -3 && (c * c).imag == 4, "complex");
  if (x.numel() == 0) PD_THROW("not reached ", x.numel());
  return {half.cast(x.dtype()) + paddle::zeros_like(x) +
          paddle::full_like(x, 0.0)};
}
PD_BUILD_OP(pd_methods)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(Methods));

// None, a list that may be None, and in place what may be None.
std::vector<paddle::Tensor> AddMaybe(
    const paddle::Tensor& x,
    const paddle::optional<std::vector<paddle::Tensor>>& ys,
    paddle::optional<paddle::Tensor>& z) {
  paddle::Tensor out = x + x;
  if (ys) {
    for (size_t i = 0; i < ys->size(); ++i) out = out + ys->at(i);
  }
  if (z) {
    for (int64_t i = 0; i < z->size(); ++i) z->data<float>()[i] += 1.0f;
    out = out + z.get();
  }
  return {out};
}
std::vector<std::vector<int64_t>> AddMaybeShape(
    const std::vector<int64_t>& x,
    const paddle::optional<std::vector<std::vector<int64_t>>>& ys,
    const paddle::optional<std::vector<int64_t>>& z) {
  return {x};
}
PD_BUILD_OP(pd_add_maybe)
    .Inputs({"X", paddle::Optional(paddle::Vec("Y")), paddle::Optional("Z")})
    .Outputs({"Out", paddle::Optional("OutZ")})
    .SetInplaceMap({{paddle::Optional("Z"), paddle::Optional("OutZ")}})
    .SetKernelFn(PD_KERNEL(AddMaybe))
    .SetInferShapeFn(PD_INFER_SHAPE(AddMaybeShape));
