// The ops of custom_ops_test.py, written against "proa/extension.h": one of
// each kind, and those that go wrong.
#include <cmath>
#include <stdexcept>

#include "proa/extension.h"

using namespace proa::extension;

namespace {

template <typename T>
T To(double v) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(v);
  } else {
    return T(static_cast<float>(v));
  }
}

// Every kind of attribute, threads, several dtypes; a gradient that is a
// kernel.
std::vector<Tensor> Affine(const Tensor& x, double factor, int64_t times,
                           bool negate, const std::string& mode,
                           const std::vector<int64_t>& ints,
                           const std::vector<double>& floats,
                           const std::vector<std::string>& texts) {
  double f = factor * static_cast<double>(times) * (negate ? -1 : 1);
  for (double v : floats) f += v;
  double b = mode == "plus" ? 1 : 0;
  for (int64_t v : ints) b += static_cast<double>(v);
  for (const std::string& t : texts) b += static_cast<double>(t.size());
  Tensor out = empty_like(x);
  PROA_DISPATCH_FLOATING_AND_HALF(x.dtype(), "test_affine", [&] {
    const data_t* from = x.data<data_t>();
    data_t* to = out.data<data_t>();
    parallel_for(0, x.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = To<data_t>(static_cast<double>(from[i]) * f + b);
      }
    });
  });
  return {out};
}

std::vector<Tensor> AffineGrad(const Tensor& grad, double factor, int64_t times,
                               bool negate, const std::vector<double>& floats) {
  double f = factor * static_cast<double>(times) * (negate ? -1 : 1);
  for (double v : floats) f += v;
  return {grad * f};
}

PROA_OP(test_affine)
    .Inputs({"x"})
    .Outputs({"out"})
    .Attrs({"factor: double = 2", "times: int64_t = 1", "negate: bool = false",
            "mode: std::string = plain", "ints: std::vector<int64_t>",
            "floats: std::vector<double>", "texts: std::vector<std::string>"})
    .SetKernelFn(PROA_KERNEL(Affine))
    .Doc("x times a factor, and more.");
PROA_GRAD_OP(test_affine)
    .Inputs({Grad("out")})
    .Outputs({Grad("x")})
    .Attrs({"factor: double", "times: int64_t", "negate: bool",
            "floats: std::vector<double>"})
    .SetKernelFn(PROA_KERNEL(AffineGrad))
    .Composite();

// Two inputs, two outputs of other shapes and dtypes, and a gradient that is a
// formula: any order.
std::vector<Tensor> Dot(const Tensor& x, const Tensor& y) {
  PROA_CHECK(x.shape() == y.shape(), "shapes differ");
  Tensor out = empty({x.shape()[0]}, DataType::FLOAT64);
  Tensor count = empty({}, DataType::INT64);
  const int64_t columns = x.shape()[1];
  for (int64_t i = 0; i < x.shape()[0]; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < columns; ++k)
      sum +=
          x.data<double>()[i * columns + k] * y.data<double>()[i * columns + k];
    out.data<double>()[i] = sum;
  }
  *count.data<int64_t>() = x.numel();
  return {out, count};
}
std::vector<Sizes> DotShape(const Sizes& x, const Sizes&) {
  return {{x[0]}, {}};
}
std::vector<DataType> DotDtype(DataType x, DataType) {
  return {x, DataType::INT64};
}
std::vector<Tensor> DotGrad(const Tensor& x, const Tensor& y,
                            const Tensor& grad) {
  Tensor column = CallOp("unsqueeze", {grad, IntArray{1}})[0];
  return {column * y, column * x};
}

PROA_OP(test_dot)
    .Inputs({"x", "y"})
    .Outputs({"out", "count"})
    .SetKernelFn(PROA_KERNEL(Dot))
    .SetInferShapeFn(PROA_INFER_SHAPE(DotShape))
    .SetInferDtypeFn(PROA_INFER_DTYPE(DotDtype));
PROA_GRAD_OP(test_dot)
    .Inputs({"x", "y", Grad("out")})
    .Outputs({Grad("x"), Grad("y")})
    .SetKernelFn(PROA_KERNEL(DotGrad))
    .Composite();

// A gradient of a gradient that is an op too.
std::vector<Tensor> Cube(const Tensor& x) { return {x * x * x}; }
std::vector<Tensor> CubeGrad(const Tensor& x, const Tensor& g) {
  return {3.0 * x * x * g};
}
std::vector<Tensor> CubeGradGrad(const Tensor& x, const Tensor& g,
                                 const Tensor& gg) {
  return {6.0 * x * g * gg, 3.0 * x * x * gg};
}
PROA_OP(test_cube).Inputs({"x"}).Outputs({"out"}).SetKernelFn(
    PROA_KERNEL(Cube));
PROA_GRAD_OP(test_cube)
    .Inputs({"x", Grad("out")})
    .Outputs({Grad("x")})
    .SetKernelFn(PROA_KERNEL(CubeGrad));
PROA_DOUBLE_GRAD_OP(test_cube)
    .Inputs({"x", Grad("out"), Grad(Grad("x"))})
    .Outputs({New(Grad("x")), Grad(Grad("out"))})
    .SetKernelFn(PROA_KERNEL(CubeGradGrad));

// Lists and None; as many results as inputs.
std::vector<Tensor> Shift(const std::vector<Tensor>& xs,
                          const optional<Tensor>& by) {
  std::vector<Tensor> out;
  for (const Tensor& x : xs) out.push_back(by ? x + by.get() : x + 1.0);
  return out;
}
std::vector<Sizes> ShiftShape(const std::vector<Sizes>& xs,
                              const optional<Sizes>&) {
  return xs;
}
std::vector<DataType> ShiftDtype(const std::vector<DataType>& xs,
                                 const optional<DataType>&) {
  return xs;
}
std::vector<Tensor> ShiftGrad(const std::vector<Tensor>& xs,
                              const std::vector<Tensor>& grads,
                              const optional<Tensor>& by) {
  std::vector<Tensor> out = grads;
  if (by) {
    Tensor all = grads[0];
    for (size_t i = 1; i < grads.size(); ++i) all = all + grads[i];
    out.push_back(sum(all));
  }
  return out;
}
PROA_OP(test_shift)
    .Inputs({Vec("xs"), Optional("by")})
    .Outputs({Vec("outs")})
    .SetKernelFn(PROA_KERNEL(Shift))
    .SetInferShapeFn(PROA_INFER_SHAPE(ShiftShape))
    .SetInferDtypeFn(PROA_INFER_DTYPE(ShiftDtype));
PROA_GRAD_OP(test_shift)
    .Inputs({Vec("xs"), Grad(Vec("outs")), Optional("by")})
    .Outputs({Grad(Vec("xs")), Grad(Optional("by"))})
    .SetKernelFn(PROA_KERNEL(ShiftGrad));

// In place.
void Bump(Tensor& x, const Tensor& y) {
  for (int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] += y.data<float>()[i];
}
std::vector<Tensor> BumpGrad(const Tensor& grad) { return {grad, grad}; }
PROA_OP(test_bump)
    .Inputs({"x", "y"})
    .Outputs({"out"})
    .SetInplaceMap({{"x", "out"}})
    .SetKernelFn(PROA_KERNEL(Bump));
PROA_GRAD_OP(test_bump)
    .Inputs({Grad("out")})
    .Outputs({Grad("x"), Grad("y")})
    .SetKernelFn(PROA_KERNEL(BumpGrad))
    .Composite();

// Without gradient; and those that go wrong, by a mode.
std::vector<Tensor> Wrong(const Tensor& x, const std::string& how) {
  if (how == "value") throw Error(PROA_VALUE_ERROR, "the value is wrong");
  if (how == "type") throw Error(PROA_TYPE_ERROR, "the type is wrong");
  if (how == "std") throw std::runtime_error("thrown in the kernel");
  if (how == "range") throw std::out_of_range("out of range");
  if (how == "other") throw 3;
  if (how == "check") PROA_CHECK(x.numel() == 0, "numel is ", x.numel());
  if (how == "op") return {matmul(x, full({7, 7}, 1.0))};
  if (how == "no op") return CallOp("there_is_no_such_op", {x});
  if (how == "dtype") return {cast(x, DataType::INT32)};
  if (how == "data") return {full({1}, *x.data<int64_t>())};
  if (how == "undefined") return {Tensor()};
  if (how == "none") return {};
  if (how == "two") return {x, x};
  if (how == "shape") return {full({3, 1}, 1.0)};
  return {x};
}
std::vector<Sizes> SameShape(const Sizes& x) { return {x}; }
std::vector<DataType> SameDtype(DataType x) { return {x}; }
PROA_OP(test_wrong)
    .Inputs({"x"})
    .Outputs({"out"})
    .Attrs({"how: std::string"})
    .SetKernelFn(PROA_KERNEL(Wrong))
    .SetInferShapeFn(PROA_INFER_SHAPE(SameShape))
    .SetInferDtypeFn(PROA_INFER_DTYPE(SameDtype));

// Of a shape that nobody knows before; of sizes that are computed.
std::vector<Tensor> Positive(const Tensor& x, const Tensor&) {
  std::vector<float> kept;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (x.data<float>()[i] > 0) kept.push_back(x.data<float>()[i]);
  }
  Tensor out = empty({static_cast<int64_t>(kept.size())});
  std::copy(kept.begin(), kept.end(), out.data<float>());
  return {out};
}
PROA_OP(test_positive)
    .Inputs({"x", "y"})
    .Outputs({"out"})
    .SetKernelFn(PROA_KERNEL(Positive));

std::vector<Tensor> Twofold(const Tensor& x, int n) {
  return {concat({x, full({n, x.shape()[1]}, 0.0, x.dtype())})};
}
std::vector<Sizes> TwofoldShape(const Sizes& x, int n) {
  return {{x[0] + n, x[1]}};
}
PROA_OP(test_padded)
    .Inputs({"x"})
    .Outputs({"out"})
    .Attrs({"n: int"})
    .SetKernelFn(PROA_KERNEL(Twofold))
    .SetInferShapeFn(PROA_INFER_SHAPE(TwofoldShape));

}  // namespace
