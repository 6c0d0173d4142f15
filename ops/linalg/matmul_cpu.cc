// Kernels of matmul and linear: they describe the product, gemm.cc computes it.
#include <vector>

#include "ops/linalg/gemm.h"
#include "ops/linalg/matmul_kernels.h"
#include "ops/linalg/matmul_problem.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

template <typename T>
std::vector<char> ConvertTo(const Tensor& t) {
  std::vector<char> out(t.numel() * sizeof(T));
  VisitDType(t.dtype(), [&](auto tag) {
    using From = typename decltype(tag)::type;
    auto* to = reinterpret_cast<T*>(out.data());
    for (int64_t i = 0; i < t.numel(); ++i) {
      const From v = t.data<From>()[i * t.strides()[0]];
      if constexpr (IsComplex(kDTypeOf<From>)) {
        if constexpr (IsComplex(kDTypeOf<T>)) to[i] = T(v.real(), v.imag());
      } else if constexpr (IsComplex(kDTypeOf<T>)) {
        to[i] = T(static_cast<typename T::value_type>(v));
      } else {
        to[i] = static_cast<T>(v);
      }
    }
  });
  return out;
}

// A dense bias of `dtype`: the tensor's own memory where it is one.
const void* BiasOf(const Tensor& bias, DType dtype, std::vector<char>& buffer) {
  if (!bias.defined()) return nullptr;
  if (bias.dtype() == dtype && bias.is_contiguous()) return bias.raw_data();
  VisitDType(dtype, [&](auto tag) {
    buffer = ConvertTo<typename decltype(tag)::type>(bias);
  });
  return buffer.data();
}

}  // namespace

void MatMul(const KernelContext&, const Tensor& x, const Tensor& y,
            bool transpose_x, bool transpose_y, Tensor* out) {
  GemmProblem p = MatMulProblem(x, y, transpose_x, transpose_y, *out);
  Gemm(p);
}

void Linear(const KernelContext&, const Tensor& x, const Tensor& weight,
            const Tensor& bias, Tensor* out) {
  std::vector<char> buffer;
  GemmProblem p = LinearProblem(x, weight, *out);
  p.bias = BiasOf(bias, p.dtype, buffer);
  Gemm(p);
}

}  // namespace proa::inline v0::ops::cpu
