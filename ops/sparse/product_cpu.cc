// Kernels of product.yaml, compiled once per instruction set. Rows of the
// result are made one by one, a tile of columns at a time that stays in
// registers; threads share them by the elements that they have. Each element is
// the sum of products in the order of the row: the same bits for any number of
// threads and any instruction set.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "ops/nn/float_copy.h"
#include "ops/nn/row_loops.h"
#include "ops/sparse/compressed.h"
#include "ops/sparse/product_kernels.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

constexpr int64_t kWorkPerThread = 1 << 14;  // products

// Rows to be made: those of y at `cols`, times values, at `numbers` if given.
template <typename T>
struct Rows {
  std::span<const int64_t> starts;
  const int64_t* cols;
  const int64_t* numbers;
  const T* values;
  int64_t own;  // of one matrix
  const T* y;
  int64_t y_rows;  // of one matrix
  int64_t n;

  T value(int64_t e) const { return values[numbers ? numbers[e] : e]; }
};

// f(row) for all rows, in pieces of like work.
template <typename F>
void ForEachRowByWork(std::span<const int64_t> starts, int64_t each, F&& f) {
  const int64_t rows = static_cast<int64_t>(starts.size()) - 1;
  const int64_t work = starts[rows] + rows;
  // The first row whose elements and number come to `at` or more.
  const auto first = [&](int64_t at) {
    int64_t low = 0, high = rows;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (starts[middle] + middle < at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const int64_t grain =
      std::max<int64_t>(1, kWorkPerThread / std::max<int64_t>(each, 1));
  parallel_for(0, work, grain, [&](int64_t begin, int64_t end) {
    const int64_t last = end == work ? rows : first(end);
    for (int64_t r = first(begin); r < last; ++r) f(r);
  });
}

template <typename A>
struct VectorOf {
  static constexpr int kBytes = 64;
  static constexpr int kSize = kBytes / sizeof(A);
  typedef A type __attribute__((vector_size(kBytes)));
};

// kVectors vectors of columns of one row.
template <int kVectors, typename T>
void Tile(const Rows<T>& x, int64_t begin, int64_t end, const T* y, T* out) {
  using Vector = typename VectorOf<T>::type;
  constexpr int kSize = VectorOf<T>::kSize;
  Vector sums[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sums[v] = Vector{};
  for (int64_t e = begin; e < end; ++e) {
    const T* from = y + x.cols[e] * x.n;
    const T value = x.value(e);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Vector part;
      std::memcpy(&part, from + v * kSize, sizeof(part));
      sums[v] += value * part;
    }
  }
  std::memcpy(out, sums, sizeof(sums));
}

// Up to kWidth columns, summed up in A.
template <int kWidth, typename A, typename T>
void Columns(const Rows<T>& x, int64_t begin, int64_t end, const T* y,
             int64_t width, T* out) {
  A sums[kWidth] = {};
  for (int64_t e = begin; e < end; ++e) {
    const T* from = y + x.cols[e] * x.n;
    const A value = static_cast<A>(x.value(e));
    for (int64_t j = 0; j < width; ++j) {
      sums[j] += value * static_cast<A>(from[j]);
    }
  }
  for (int64_t j = 0; j < width; ++j) out[j] = static_cast<T>(sums[j]);
}

template <typename T>
void MakeRow(const Rows<T>& x, int64_t r, T* out) {
  using A = typename Accumulate<T>::type;
  const int64_t begin = x.starts[r], end = x.starts[r + 1];
  const T* y = x.y + r / x.own * x.y_rows * x.n;
  int64_t j = 0;
  if constexpr (std::is_same_v<T, A>) {
    constexpr int kSize = VectorOf<T>::kSize;
    for (; j + 4 * kSize <= x.n; j += 4 * kSize) {
      Tile<4>(x, begin, end, y + j, out + j);
    }
    if (j + 2 * kSize <= x.n) {
      Tile<2>(x, begin, end, y + j, out + j);
      j += 2 * kSize;
    }
    if (j + kSize <= x.n) {
      Tile<1>(x, begin, end, y + j, out + j);
      j += kSize;
    }
    if (x.n - j == 1) {
      Columns<1, A>(x, begin, end, y + j, 1, out + j);
    } else if (j < x.n) {
      Columns<kSize, A>(x, begin, end, y + j, x.n - j, out + j);
    }
  } else {
    for (; j < x.n; j += 32) {
      Columns<32, A>(x, begin, end, y + j, std::min<int64_t>(32, x.n - j),
                     out + j);
    }
  }
}

template <typename T>
void MakeRows(const Rows<T>& x, T* out) {
  if (x.n == 0) return;
  ForEachRowByWork(x.starts, x.n,
                   [&](int64_t r) { MakeRow(x, r, out + r * x.n); });
}

}  // namespace

void CsrMatmul(const KernelContext&, const Tensor& values, const Tensor& crows,
               const Tensor& cols, const Tensor& y, const IntArray& shape,
               bool transpose, Tensor* out) {
  const cpu::Compressed x("csr_matmul", crows, cols, Shape(shape.values()));
  const int64_t n = y.size(y.rank() - 1);
  VisitFloat(out->dtype(), [&]<typename T>(TypeTag<T>) {
    const T* v = values.data<T>();
    if (transpose) {
      const cpu::ByColumns t(x);
      MakeRows<T>({t.starts, t.rows.data(), t.numbers.data(), v, x.columns(),
                   y.data<T>(), x.rows(), n},
                  out->data<T>());
    } else {
      MakeRows<T>({x.starts(), x.cols().data(), nullptr, v, x.rows(),
                   y.data<T>(), x.columns(), n},
                  out->data<T>());
    }
  });
}

void CsrSampledMatmul(const KernelContext&, const Tensor& x, const Tensor& y,
                      const Tensor& crows, const Tensor& cols,
                      const IntArray& shape, Tensor* out) {
  const cpu::Compressed at("csr_sampled_matmul", crows, cols,
                           Shape(shape.values()));
  const int64_t n = x.size(x.rank() - 1);
  VisitFloat(out->dtype(), [&]<typename T>(TypeTag<T>) {
    using A = typename Accumulate<T>::type;
    T* to = out->data<T>();
    ForEachRowByWork(at.starts(), n, [&](int64_t r) {
      const T* a = x.data<T>() + r * n;
      const T* b = y.data<T>() + r / at.rows() * at.columns() * n;
      for (int64_t e = at.starts()[r]; e < at.starts()[r + 1]; ++e) {
        const T* c = b + at.cols()[e] * n;
        to[e] = static_cast<T>(SumOver<A>(n, [&](int64_t j) {
          return static_cast<A>(a[j]) * static_cast<A>(c[j]);
        }));
      }
    });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
