// Part of "proa/extension.h": functions over operators that kernels need most.
// All others: CallOp (tensor.h).
#ifndef PROA_EXTENSION_OPS_H_
#define PROA_EXTENSION_OPS_H_

#include "proa/extension/tensor.h"

namespace proa {
namespace extension __attribute__((visibility("hidden"))) {

  inline Tensor empty(const IntArray& shape, DataType dtype = DataType::FLOAT32,
                      const Place& place = CPUPlace()) {
    ProaTensor out = nullptr;
    Check(Host().empty(shape.data(), static_cast<int32_t>(shape.size()),
                       static_cast<int32_t>(dtype), place.abi(), &out));
    return Tensor::Adopt(out);
  }
  inline Tensor full(const IntArray& shape, const Scalar& value,
                     DataType dtype = DataType::FLOAT32,
                     const Place& place = CPUPlace()) {
    return CallOp("full", {shape, value, dtype, place})[0];
  }
  inline Tensor zeros(const IntArray& shape, DataType dtype = DataType::FLOAT32,
                      const Place& place = CPUPlace()) {
    return full(shape, 0, dtype, place);
  }
  inline Tensor ones(const IntArray& shape, DataType dtype = DataType::FLOAT32,
                     const Place& place = CPUPlace()) {
    return full(shape, 1, dtype, place);
  }
  // Of the shape of `x`, known or not; of its dtype unless one is given.
  inline Tensor full_like(const Tensor& x, const Scalar& value,
                          DataType dtype = DataType::UNDEFINED,
                          const Place& = Place()) {
    return CallOp("full_like", {x, value, dtype})[0];
  }
  inline Tensor zeros_like(const Tensor& x,
                           DataType dtype = DataType::UNDEFINED,
                           const Place& = Place()) {
    return full_like(x, 0, dtype);
  }
  inline Tensor ones_like(const Tensor& x, DataType dtype = DataType::UNDEFINED,
                          const Place& = Place()) {
    return full_like(x, 1, dtype);
  }
  inline Tensor empty_like(const Tensor& x,
                           DataType dtype = DataType::UNDEFINED,
                           const Place& = Place()) {
    return empty(x.shape(), dtype == DataType::UNDEFINED ? x.dtype() : dtype,
                 x.place());
  }
  inline Tensor copy_to(const Tensor& x, const Place& place, bool = true) {
    return x.copy_to(place);
  }

#define PROA_EXTENSION_UNARY(name) \
  inline Tensor name(const Tensor& x) { return CallOp(#name, {x})[0]; }
  PROA_EXTENSION_UNARY(abs)
  PROA_EXTENSION_UNARY(neg)
  PROA_EXTENSION_UNARY(sign)
  PROA_EXTENSION_UNARY(exp)
  PROA_EXTENSION_UNARY(log)
  PROA_EXTENSION_UNARY(sqrt)
  PROA_EXTENSION_UNARY(rsqrt)
  PROA_EXTENSION_UNARY(square)
  PROA_EXTENSION_UNARY(reciprocal)
  PROA_EXTENSION_UNARY(sin)
  PROA_EXTENSION_UNARY(cos)
  PROA_EXTENSION_UNARY(tanh)
  PROA_EXTENSION_UNARY(sigmoid)
  PROA_EXTENSION_UNARY(relu)
  PROA_EXTENSION_UNARY(silu)
  PROA_EXTENSION_UNARY(erf)
  PROA_EXTENSION_UNARY(floor)
#undef PROA_EXTENSION_UNARY

#define PROA_EXTENSION_BINARY(name)                      \
  inline Tensor name(const Tensor& x, const Tensor& y) { \
    return CallOp(#name, {x, y})[0];                     \
  }
  PROA_EXTENSION_BINARY(add)
  PROA_EXTENSION_BINARY(subtract)
  PROA_EXTENSION_BINARY(multiply)
  PROA_EXTENSION_BINARY(divide)
  PROA_EXTENSION_BINARY(maximum)
  PROA_EXTENSION_BINARY(minimum)
  PROA_EXTENSION_BINARY(equal)
  PROA_EXTENSION_BINARY(not_equal)
  PROA_EXTENSION_BINARY(less_than)
  PROA_EXTENSION_BINARY(less_equal)
  PROA_EXTENSION_BINARY(greater_than)
  PROA_EXTENSION_BINARY(greater_equal)
#undef PROA_EXTENSION_BINARY

  inline Tensor pow(const Tensor& x, const Tensor& y) {
    return CallOp("pow", {x, y})[0];
  }
  inline Tensor pow(const Tensor& x, const Scalar& y) {
    return pow(x, full({}, y, x.dtype(), x.place()));
  }
  inline Tensor scale(const Tensor& x, const Scalar& factor,
                      const Scalar& bias = 0.0, bool bias_after_scale = true) {
    return CallOp("scale", {x, factor, bias, bias_after_scale})[0];
  }
  inline Tensor cast(const Tensor& x, DataType dtype) {
    return CallOp("cast", {x, dtype})[0];
  }
  inline Tensor matmul(const Tensor& x, const Tensor& y,
                       bool transpose_x = false, bool transpose_y = false) {
    return CallOp("matmul", {x, y, transpose_x, transpose_y})[0];
  }
  inline Tensor sum(const Tensor& x, const IntArray& axis = {},
                    DataType dtype = DataType::UNDEFINED,
                    bool keepdim = false) {
    return CallOp("sum", {x, axis, dtype, keepdim})[0];
  }
  inline Tensor mean(const Tensor& x, const IntArray& axis = {},
                     bool keepdim = false) {
    return CallOp("mean", {x, axis, keepdim})[0];
  }
  inline Tensor max(const Tensor& x, const IntArray& axis = {},
                    bool keepdim = false) {
    return CallOp("max", {x, axis, keepdim})[0];
  }
  inline Tensor min(const Tensor& x, const IntArray& axis = {},
                    bool keepdim = false) {
    return CallOp("min", {x, axis, keepdim})[0];
  }
  inline Tensor softmax(const Tensor& x, int axis = -1) {
    return CallOp("softmax", {x, axis})[0];
  }
  inline Tensor where(const Tensor& condition, const Tensor& x,
                      const Tensor& y) {
    return CallOp("where", {condition, x, y})[0];
  }
  inline Tensor reshape(const Tensor& x, const IntArray& shape) {
    return CallOp("reshape", {x, shape})[0];
  }
  inline Tensor transpose(const Tensor& x, const IntArray& perm) {
    return CallOp("transpose", {x, perm})[0];
  }
  inline Tensor concat(const std::vector<Tensor>& xs, int64_t axis = 0) {
    return CallOp("concat", {xs, axis})[0];
  }
  inline Tensor stack(const std::vector<Tensor>& xs, int64_t axis = 0) {
    return CallOp("stack", {xs, axis})[0];
  }

  inline Tensor operator+(const Tensor& x, const Tensor& y) {
    return add(x, y);
  }
  inline Tensor operator-(const Tensor& x, const Tensor& y) {
    return subtract(x, y);
  }
  inline Tensor operator*(const Tensor& x, const Tensor& y) {
    return multiply(x, y);
  }
  inline Tensor operator/(const Tensor& x, const Tensor& y) {
    return divide(x, y);
  }
  inline Tensor operator-(const Tensor& x) { return neg(x); }
#define PROA_EXTENSION_OPERATOR(op, name)                       \
  inline Tensor operator op(const Tensor& x, const Scalar& y) { \
    return name(x, full({}, y, x.dtype(), x.place()));          \
  }                                                             \
  inline Tensor operator op(const Scalar& x, const Tensor& y) { \
    return name(full({}, x, y.dtype(), y.place()), y);          \
  }
  PROA_EXTENSION_OPERATOR(+, add)
  PROA_EXTENSION_OPERATOR(-, subtract)
  PROA_EXTENSION_OPERATOR(*, multiply)
  PROA_EXTENSION_OPERATOR(/, divide)
#undef PROA_EXTENSION_OPERATOR

  inline void Tensor::reshape(const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    if (handle_ != nullptr && n == numel()) {
      *this = extension::reshape(*this, shape);
    } else {
      place_ = place();
      reset();
      pending_ = shape;
    }
  }
  inline Tensor Tensor::slice(int64_t begin, int64_t end) const {
    return CallOp("slice",
                  {*this, IntArray{0}, IntArray{begin}, IntArray{end}})[0];
  }
  inline Tensor Tensor::cast(DataType dtype) const {
    return extension::cast(*this, dtype);
  }

}  // namespace extension
}  // namespace proa

#endif  // PROA_EXTENSION_OPS_H_
