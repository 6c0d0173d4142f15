// StepProduct: the product of each step in the type of its operands; see
// panel_product.h. Compiled once per instruction set.
#ifndef PROA_OPS_RECURRENT_STEP_PRODUCT_H_
#define PROA_OPS_RECURRENT_STEP_PRODUCT_H_

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "ops/linalg/gemm.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "ops/recurrent/panel_product.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

// Numbers of A, by vectors of two in each panel.
template <typename A>
struct StepKernel {
  using Element = A;
  using Unit = A;
  using Sum = A;
#if defined(__AVX512F__)
  static constexpr int kBytes = 64, kMostRows = 12;
#elif defined(__AVX2__)
  static constexpr int kBytes = 32, kMostRows = 6;
#else
  static constexpr int kBytes = 16, kMostRows = 6;
#endif
  static constexpr int kLanes = kBytes / static_cast<int>(sizeof(A));
  static constexpr int64_t kWidth = 2 * kLanes;
  typedef A Vector __attribute__((vector_size(kBytes)));

  static Vector Load(const A* from) {
    Vector v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
  static void Store(A* to, const Vector& v) { std::memcpy(to, &v, sizeof(v)); }

  // a b + c, rounded once where the machine does that.
  static Vector MultiplyAdd(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
    if constexpr (sizeof(A) == 4) return _mm512_fmadd_ps(a, b, c);
    if constexpr (sizeof(A) == 8) return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
    if constexpr (sizeof(A) == 4) return _mm256_fmadd_ps(a, b, c);
    if constexpr (sizeof(A) == 8) return _mm256_fmadd_pd(a, b, c);
#endif
    return a * b + c;
  }

  template <int kRows, int kPanels>
  static void Run(const PanelBlock<StepKernel>& block) {
    Vector sums[kRows][kPanels][2] = {};
    const A* row = block.panel;
    for (int64_t q = 0; q < block.units; ++q, row += kWidth) {
      Vector b[kPanels][2];
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        b[p][0] = Load(row + p * block.panel_stride);
        b[p][1] = Load(row + p * block.panel_stride + kLanes);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        // In each lane.
        const Vector f = block.a[r * block.a_stride + q] - Vector{};
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p) {
          sums[r][p][0] = MultiplyAdd(f, b[p][0], sums[r][p][0]);
          sums[r][p][1] = MultiplyAdd(f, b[p][1], sums[r][p][1]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        A* const to = block.c + r * block.c_stride + p * kWidth;
        const int64_t width = p + 1 < kPanels ? kWidth : block.width;
        Put(sums[r][p], width, block.accumulate, to);
      }
    }
  }

 private:
  static void Put(const Vector (&sums)[2], int64_t width, bool accumulate,
                  A* to) {
    if (width == kWidth) {
      for (int v = 0; v < 2; ++v) {
        A* const at = to + v * kLanes;
        Store(at, accumulate ? Load(at) + sums[v] : sums[v]);
      }
      return;
    }
    A lanes[kWidth];
    Store(lanes, sums[0]);
    Store(lanes + kLanes, sums[1]);
    for (int64_t j = 0; j < width; ++j)
      to[j] = accumulate ? to[j] + lanes[j] : lanes[j];
  }
};

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
    if (!packed_) return RunOnce(a, m, c, accumulate);
    packed_->Run(a, m, c, accumulate);
  }

 private:
  void Pack() {
    constexpr int64_t kWidth = StepKernel<A>::kWidth, kItem = sizeof(A);
    packed_.emplace(k_, n_);
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / (k_ * kWidth));
    parallel_for(0, packed_->panels(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        A* const to = packed_->panel(p);
        const A* from = data_ + p * kWidth * column_stride_;
        const int64_t width = packed_->width(p);
        if (width < kWidth) std::fill_n(to, k_ * kWidth, A(0));
        cpu::CopyPlane(kItem, k_, width, reinterpret_cast<char*>(to),
                       kWidth * kItem, reinterpret_cast<const char*>(from),
                       row_stride_ * kItem, column_stride_ * kItem);
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
  std::optional<PanelProduct<StepKernel<A>>> packed_;
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_RECURRENT_STEP_PRODUCT_H_
