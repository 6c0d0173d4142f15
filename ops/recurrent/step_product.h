// StepProduct: C (+)= A B for the same B again and again, as each step of a
// recurrent cell does with its weight; compiled once per instruction set.
//
// A has few rows, so that what a product of a library does first, to copy B
// into the order that its loops want, costs as much as the product. Here that
// is done once. Sums over k go in one order, whatever the rows and threads.
#ifndef PROA_OPS_RECURRENT_STEP_PRODUCT_H_
#define PROA_OPS_RECURRENT_STEP_PRODUCT_H_

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/linalg/gemm.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace step_internal {

#if defined(__AVX512F__)
inline constexpr int kBytes = 64, kMostRows = 12;
#elif defined(__AVX2__)
inline constexpr int kBytes = 32, kMostRows = 6;
#else
inline constexpr int kBytes = 16, kMostRows = 6;
#endif

template <typename A>
struct VectorOf {
  typedef A type __attribute__((vector_size(kBytes)));
};
template <typename A>
using Vector = typename VectorOf<A>::type;
template <typename A>
inline constexpr int kLanes = kBytes / static_cast<int>(sizeof(A));
// Columns of a panel of B: two vectors.
template <typename A>
inline constexpr int kWidth = 2 * kLanes<A>;

template <typename A>
inline Vector<A> Load(const A* from) {
  Vector<A> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <typename A>
inline void Store(A* to, const Vector<A>& v) {
  std::memcpy(to, &v, sizeof(v));
}

// a b + c, rounded once where the machine does that.
template <typename A>
inline Vector<A> MultiplyAdd(Vector<A> a, Vector<A> b, Vector<A> c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(A) == 4) return _mm512_fmadd_ps(a, b, c);
  if constexpr (sizeof(A) == 8) return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  if constexpr (sizeof(A) == 4) return _mm256_fmadd_ps(a, b, c);
  if constexpr (sizeof(A) == 8) return _mm256_fmadd_pd(a, b, c);
#endif
  return a * b + c;
}

// Rows of C, as wide as a panel, from k rows of it.
template <typename A, int kRows>
void Block(int64_t k, const A* a, int64_t a_stride, const A* panel, A* c,
           int64_t c_stride, int64_t width, bool accumulate) {
  constexpr int kL = kLanes<A>;
  Vector<A> sums[kRows][2] = {};
  for (int64_t q = 0; q < k; ++q) {
    const Vector<A> b0 = Load(panel + q * kWidth<A>);
    const Vector<A> b1 = Load(panel + q * kWidth<A> + kL);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vector<A> f = a[r * a_stride + q] - Vector<A>{};  // in each lane
      sums[r][0] = MultiplyAdd<A>(f, b0, sums[r][0]);
      sums[r][1] = MultiplyAdd<A>(f, b1, sums[r][1]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    A* to = c + r * c_stride;
    if (width == kWidth<A>) {
      for (int v = 0; v < 2; ++v) {
        const Vector<A> sum =
            accumulate ? Load(to + v * kL) + sums[r][v] : sums[r][v];
        Store(to + v * kL, sum);
      }
      continue;
    }
    A lanes[kWidth<A>];
    Store(lanes, sums[r][0]);
    Store(lanes + kL, sums[r][1]);
    for (int64_t j = 0; j < width; ++j)
      to[j] = accumulate ? to[j] + lanes[j] : lanes[j];
  }
}

template <typename A>
using BlockFunction = void (*)(int64_t, const A*, int64_t, const A*, A*,
                               int64_t, int64_t, bool);

template <typename A, int kRows = kMostRows>
BlockFunction<A> BlockOf(int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return BlockOf<A, kRows - 1>(rows);
  }
  return &Block<A, kRows>;
}

}  // namespace step_internal

template <typename A>
class StepProduct {
 public:
  // B [k, n]: element (q, j) at data[q * row_stride + j * column_stride], one
  // of the strides 1. `rows`: of A, in all calls together.
  StepProduct(const A* data, int64_t k, int64_t n, int64_t row_stride,
              int64_t column_stride, int64_t rows)
      : data_(data),
        k_(k),
        n_(n),
        row_stride_(row_stride),
        column_stride_(column_stride) {
    // For a few rows the copy does not pay.
    if (rows > 8 && k > 0) Pack();
  }

  // c [m, n] (+)= a [m, k]; both dense.
  void Run(const A* a, int64_t m, A* c, bool accumulate) const {
    if (m == 0) return;
    if (!packed_.defined()) return RunOnce(a, m, c, accumulate);
    const int64_t grain =
        std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, m * k_ * kWidth));
    const int64_t parts = (k_ + kDepth - 1) / kDepth;
    parallel_for(0, Panels(), grain, [&](int64_t begin, int64_t end) {
      // Rows of A and parts of k that stay in the L2 cache, with those of a
      // panel that stay in the L1.
      for (int64_t row = 0; row < m; row += kChunk) {
        const int64_t rows = std::min(kChunk, m - row);
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t q = k_ * part / parts;
          const int64_t depth = k_ * (part + 1) / parts - q;
          for (int64_t p = begin; p < end; ++p)
            RunChunk(a + row * k_ + q, rows, q, depth, p, c + row * n_,
                     accumulate || part > 0);
        }
      }
    });
  }

 private:
  static constexpr int64_t kWidth = step_internal::kWidth<A>;
  static constexpr int64_t kDepth = 384;
  static constexpr int64_t kChunk = 16 * step_internal::kMostRows;

  // Some rows of C in panel p, from `depth` rows of it from q on.
  void RunChunk(const A* a, int64_t m, int64_t q, int64_t depth, int64_t p,
                A* c, bool accumulate) const {
    const A* panel = packed_.data<A>() + (p * k_ + q) * kWidth;
    const int64_t column = p * kWidth;
    const int64_t blocks =
        (m + step_internal::kMostRows - 1) / step_internal::kMostRows;
    for (int64_t b = 0; b < blocks; ++b) {
      // Of nearly one size: a block of a row or two would wait for its sums.
      const int64_t row = m * b / blocks, rows = m * (b + 1) / blocks - row;
      step_internal::BlockOf<A>(rows)(
          depth, a + row * k_, k_, panel, c + row * n_ + column, n_,
          std::min(kWidth, n_ - column), accumulate);
    }
  }

  int64_t Panels() const { return (n_ + kWidth - 1) / kWidth; }

  // Panels of kWidth columns, each [k, kWidth]; zeros beyond the last column.
  void Pack() {
    packed_ = Tensor::Empty({Panels() * k_ * kWidth}, kDTypeOf<A>, Place());
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / (k_ * kWidth));
    parallel_for(0, Panels(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        A* to = packed_.data<A>() + p * k_ * kWidth;
        const A* from = data_ + p * kWidth * column_stride_;
        const int64_t width = std::min(kWidth, n_ - p * kWidth);
        for (int64_t q = 0; q < k_; ++q, to += kWidth) {
          for (int64_t j = 0; j < width; ++j)
            to[j] = from[q * row_stride_ + j * column_stride_];
          for (int64_t j = width; j < kWidth; ++j) to[j] = A(0);
        }
      }
    });
  }

  void RunOnce(const A* a, int64_t m, A* c, bool accumulate) const {
    Tensor sum;
    GemmProblem p;
    p.dtype = kDTypeOf<A>;
    p.m = m;
    p.n = n_;
    p.k = k_;
    p.a.data = a;
    p.a.row_stride = k_;
    p.a.column_stride = 1;
    p.b.data = data_;
    p.b.row_stride = row_stride_;
    p.b.column_stride = column_stride_;
    p.c = c;
    if (accumulate) {
      sum = Tensor::Empty({m * n_}, kDTypeOf<A>, Place());
      p.c = sum.raw_data();
    }
    Gemm(p);
    if (!accumulate) return;
    const A* from = sum.data<A>();
    for (int64_t i = 0; i < m * n_; ++i) c[i] += from[i];
  }

  const A* data_;
  int64_t k_, n_, row_stride_, column_stride_;
  Tensor packed_;
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_RECURRENT_STEP_PRODUCT_H_
