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
#include <vector>

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

// Rows to be made: those of y at `cols`, times values.
template <typename T>
struct Rows {
  std::span<const int64_t> starts;
  const int64_t* cols;
  const T* values;
  int64_t own;  // of one matrix
  const T* y;
  int64_t y_rows;  // of one matrix
  int64_t n;
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

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

template <typename A>
struct VectorOf {
  static constexpr int kSize = kBytes / sizeof(A);
  typedef A type __attribute__((vector_size(kBytes)));
};

template <typename A>
typename VectorOf<A>::type Load(const A* from) {
  typename VectorOf<A>::type v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// kVectors vectors of columns of one row.
template <int kVectors, typename T>
void Tile(const Rows<T>& x, int64_t begin, int64_t end, const T* y, T* out) {
  constexpr int kSize = VectorOf<T>::kSize;
  const int64_t* const cols = x.cols;
  const T* const values = x.values;
  const int64_t n = x.n;
  typename VectorOf<T>::type sums[kVectors] = {};
  for (int64_t e = begin; e < end; ++e) {
    const T* const from = y + cols[e] * n;
    const T value = values[e];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[v] += value * Load(from + v * kSize);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    std::memcpy(out + v * kSize, &sums[v], sizeof(sums[v]));
  }
}

// One column: a product waits for none of the three before it.
template <typename A, typename T>
void Column(const Rows<T>& x, int64_t begin, int64_t end, const T* y, T* out) {
  A sums[4] = {};
  int64_t e = begin;
  for (; e + 4 <= end; e += 4) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      sums[k] += static_cast<A>(x.values[e + k]) *
                 static_cast<A>(y[x.cols[e + k] * x.n]);
    }
  }
  for (; e < end; ++e) {
    sums[0] += static_cast<A>(x.values[e]) * static_cast<A>(y[x.cols[e] * x.n]);
  }
  *out = static_cast<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Up to kWidth columns, summed up in A.
template <int kWidth, typename A, typename T>
void Columns(const Rows<T>& x, int64_t begin, int64_t end, const T* y,
             int64_t width, T* out) {
  A sums[kWidth] = {};
  for (int64_t e = begin; e < end; ++e) {
    const T* from = y + x.cols[e] * x.n;
    const A value = static_cast<A>(x.values[e]);
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
    for (; j + 8 * kSize <= x.n; j += 8 * kSize) {
      Tile<8>(x, begin, end, y + j, out + j);
    }
    if (j + 4 * kSize <= x.n) {
      Tile<4>(x, begin, end, y + j, out + j);
      j += 4 * kSize;
    }
    if (j + 2 * kSize <= x.n) {
      Tile<2>(x, begin, end, y + j, out + j);
      j += 2 * kSize;
    }
    if (j + kSize <= x.n) {
      Tile<1>(x, begin, end, y + j, out + j);
      j += kSize;
    }
  }
  if (x.n - j == 1) return Column<A>(x, begin, end, y + j, out + j);
  for (; j < x.n; j += 16) {
    Columns<16, A>(x, begin, end, y + j, std::min<int64_t>(16, x.n - j),
                   out + j);
  }
}

// The sum of a[j] b[j], in lanes that are the same for every instruction set.
template <typename A>
A Dot(const A* a, const A* b, int64_t n) {
  constexpr int kLanes = 32, kSize = VectorOf<A>::kSize;
  constexpr int kVectors = kLanes / kSize;
  typename VectorOf<A>::type sums[kVectors] = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      sums[v] += Load(a + j + v * kSize) * Load(b + j + v * kSize);
    }
  }
  A lanes[kLanes];
  std::memcpy(lanes, sums, sizeof(lanes));
  for (int l = 0; j < n; ++j, ++l) lanes[l] += a[j] * b[j];
  return row_internal::Fold<row_internal::Plus>(lanes);
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
      std::vector<T> moved(t.numbers.size());
      for (size_t e = 0; e < moved.size(); ++e) moved[e] = v[t.numbers[e]];
      MakeRows<T>({t.starts, t.rows.data(), moved.data(), x.columns(),
                   y.data<T>(), x.rows(), n},
                  out->data<T>());
    } else {
      MakeRows<T>({x.starts(), x.cols().data(), v, x.rows(), y.data<T>(),
                   x.columns(), n},
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
        if constexpr (std::is_same_v<T, A>) {
          to[e] = Dot(a, c, n);
        } else {
          to[e] = static_cast<T>(SumOver<A>(n, [&](int64_t j) {
            return static_cast<A>(a[j]) * static_cast<A>(c[j]);
          }));
        }
      }
    });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
