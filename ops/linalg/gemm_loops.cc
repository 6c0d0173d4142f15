// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/linalg/gemm_loops.h"

#include <algorithm>
#include <complex>
#include <vector>

#define EIGEN_DONT_PARALLELIZE
#include "Eigen/Core"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Rows of C at a time, so that a row of B is read once for several of them.
constexpr int kRows = 4;

template <typename T>
void StartRow(const GemmPanel& p, T* c) {
  if (p.bias != nullptr) {
    std::copy_n(static_cast<const T*>(p.bias), p.n, c);
  } else {
    std::fill_n(c, p.n, T(0));
  }
}

// Rows [i, i + R) of C += A B where rows of B are dense. The columns go in
// strips that stay in registers.
template <typename T, int R, int W>
void StripRows(const GemmPanel& p, int64_t i, int64_t j) {
  const T* a = static_cast<const T*>(p.a) + i * p.a_row;
  const T* b = static_cast<const T*>(p.b) + j;
  T* c = static_cast<T*>(p.c) + i * p.n + j;
  T acc[R][W];
  for (int r = 0; r < R; ++r)
    for (int w = 0; w < W; ++w) acc[r][w] = c[r * p.n + w];
  for (int64_t q = 0; q < p.k; ++q) {
    for (int r = 0; r < R; ++r) {
      const T f = a[r * p.a_row + q * p.a_column];
      for (int w = 0; w < W; ++w) acc[r][w] += f * b[q * p.b_row + w];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int w = 0; w < W; ++w) c[r * p.n + w] = acc[r][w];
}

template <typename T, int R>
void Rows(const GemmPanel& p, int64_t i) {
  constexpr int kWide = 64 / sizeof(T) >= 16 ? 16 : 8;
  int64_t j = 0;
  for (; j + kWide <= p.n; j += kWide) StripRows<T, R, kWide>(p, i, j);
  for (; j + 4 <= p.n; j += 4) StripRows<T, R, 4>(p, i, j);
  for (; j < p.n; ++j) StripRows<T, R, 1>(p, i, j);
}

// Unsigned arithmetic, so that integer overflow wraps instead of being
// undefined.
template <typename T>
void MultiplyAdd(T& acc, T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    acc = static_cast<T>(static_cast<uint64_t>(acc) +
                         static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  } else {
    acc += x * y;
  }
}

template <typename T>
void AnyStrides(const GemmPanel& p) {
  const T* a = static_cast<const T*>(p.a);
  const T* b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t q = 0; q < p.k; ++q) {
      const T f = a[i * p.a_row + q * p.a_column];
      const T* row = b + q * p.b_row;
      if (p.b_column == 1) {
        for (int64_t j = 0; j < p.n; ++j)
          MultiplyAdd(c[i * p.n + j], f, row[j]);
      } else {
        for (int64_t j = 0; j < p.n; ++j)
          MultiplyAdd(c[i * p.n + j], f, row[j * p.b_column]);
      }
    }
  }
}

template <typename T>
void Loops(const GemmPanel& p) {
  for (int64_t i = 0; i < p.m; ++i) StartRow(p, static_cast<T*>(p.c) + i * p.n);
  if constexpr (std::is_floating_point_v<T>) {
    if (p.b_column == 1) {
      int64_t i = 0;
      for (; i + kRows <= p.m; i += kRows) Rows<T, kRows>(p, i);
      for (; i < p.m; ++i) Rows<T, 1>(p, i);
      return;
    }
  }
  AnyStrides<T>(p);
}

template <typename T>
using RowMajor =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Dense rows, copied into `buffer` unless they are so already.
template <typename T>
Eigen::Map<const RowMajor<T>, 0, Eigen::OuterStride<>> DenseRows(
    const void* data, int64_t rows, int64_t columns, int64_t row_stride,
    int64_t column_stride, std::vector<T>& buffer) {
  const T* source = static_cast<const T*>(data);
  if (column_stride == 1 && row_stride >= columns)
    return {source, rows, columns, Eigen::OuterStride<>(row_stride)};
  buffer.resize(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      buffer[i * columns + j] = source[i * row_stride + j * column_stride];
  return {buffer.data(), rows, columns, Eigen::OuterStride<>(columns)};
}

template <typename T>
void EigenProduct(const GemmPanel& p) {
  if (p.m * p.n * p.k <= 512) return Loops<T>(p);
  std::vector<T> a_buffer, b_buffer;
  auto a = DenseRows<T>(p.a, p.m, p.k, p.a_row, p.a_column, a_buffer);
  auto b = DenseRows<T>(p.b, p.k, p.n, p.b_row, p.b_column, b_buffer);
  Eigen::Map<RowMajor<T>> c(static_cast<T*>(p.c), p.m, p.n);
  c.noalias() = a * b;
  if (p.bias != nullptr) {
    c.rowwise() += Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(
        static_cast<const T*>(p.bias), p.n);
  }
}

}  // namespace

// Eigen asks the processor once, which is in a static.
int AskEigenForCaches() { return static_cast<int>(Eigen::l1CacheSize()); }

GemmPanelFunction GemmPanelFor(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return Loops<uint8_t>;
    case DType::kInt8:
      return Loops<int8_t>;
    case DType::kInt16:
      return Loops<int16_t>;
    case DType::kInt32:
      return Loops<int32_t>;
    case DType::kInt64:
      return Loops<int64_t>;
    case DType::kFloat32:
      return Loops<float>;
    case DType::kFloat64:
      return EigenProduct<double>;
    case DType::kComplex64:
      return EigenProduct<std::complex<float>>;
    case DType::kComplex128:
      return EigenProduct<std::complex<double>>;
    default:
      return nullptr;
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
