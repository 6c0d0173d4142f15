// Kernels of matmul and linear: they describe the product, gemm.cc computes it.
#include <vector>

#include "ops/linalg/gemm.h"
#include "ops/linalg/matmul_kernels.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

// The last two dims of `t` as a matrix; a 1-D tensor is a row or a column.
GemmOperand MatrixOf(const Tensor& t, bool transpose, bool vector_is_row,
                     const DimVector& batch) {
  const int rank = t.rank();
  const Strides& s = t.strides();
  GemmOperand m;
  m.data = t.raw_data();
  if (rank == 1) {
    m.row_stride = vector_is_row ? 0 : s[0];
    m.column_stride = vector_is_row ? s[0] : 0;
  } else {
    m.row_stride = s[transpose ? rank - 1 : rank - 2];
    m.column_stride = s[transpose ? rank - 2 : rank - 1];
  }
  // Right-aligned with the batch dims of the result; broadcast dims do not
  // move.
  const int own = rank > 2 ? rank - 2 : 0;
  const int missing = static_cast<int>(batch.size()) - own;
  m.batch_strides.resize(batch.size(), 0);
  for (int d = 0; d < own; ++d)
    m.batch_strides[missing + d] = t.size(d) == 1 ? 0 : s[d];
  return m;
}

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

void MatMul(const KernelContext& ctx, const Tensor& x, const Tensor& y,
            bool transpose_x, bool transpose_y, Tensor* out) {
  const int matrix_dims = (x.rank() > 1) + (y.rank() > 1);
  GemmProblem p;
  p.dtype = out->dtype();
  const auto dims = out->shape().span();
  p.batch.assign(dims.begin(), dims.end() - matrix_dims);
  p.m = x.rank() > 1 ? x.size(x.rank() - (transpose_x ? 1 : 2)) : 1;
  p.n = y.rank() > 1 ? y.size(y.rank() - (transpose_y ? 2 : 1)) : 1;
  p.k = x.rank() > 1 ? x.size(x.rank() - (transpose_x ? 2 : 1)) : x.size(0);
  p.a = MatrixOf(x, transpose_x, /*vector_is_row=*/true, p.batch);
  p.b = MatrixOf(y, transpose_y, /*vector_is_row=*/false, p.batch);
  p.c = out->raw_data();
  Gemm(p);
}

void Linear(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
            const Tensor& bias, Tensor* out) {
  std::vector<char> buffer;
  GemmProblem p;
  p.dtype = out->dtype();
  const int rank = x.rank();
  if (rank > 2) p.batch.assign(x.shape().begin(), x.shape().end() - 2);
  p.m = rank > 1 ? x.size(rank - 2) : 1;
  p.n = weight.size(1);
  p.k = weight.size(0);
  p.a = MatrixOf(x, false, /*vector_is_row=*/true, p.batch);
  p.b = MatrixOf(weight, false, false, p.batch);
  p.bias = BiasOf(bias, p.dtype, buffer);
  p.c = out->raw_data();
  Gemm(p);
}

}  // namespace proa::inline v0::ops::cpu
