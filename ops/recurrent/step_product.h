// StepProduct: the product of each step in the type of its operands; see
// panel_product.h. Compiled once per instruction set.
#ifndef PROA_OPS_RECURRENT_STEP_PRODUCT_H_
#define PROA_OPS_RECURRENT_STEP_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ops/linalg/gemm.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "ops/primitives/cpu/vectors.h"
#include "ops/recurrent/panel_product.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

// Numbers of A, by vectors of two in each panel.
template <typename A>
struct StepKernel {
  using Source = A;
  using Unit = A;
  using Sum = A;
  static constexpr int64_t kPerUnit = 1;
  using Vectors = VectorOf<A>;
  using Vector = typename Vectors::Type;
  // As many sums as registers hold, besides a row of two panels.
  static constexpr int kMostRows = kVectorBytes == 64 ? 12 : 6;
  static constexpr int kLanes = Vectors::kLanes;
  static constexpr int64_t kWidth = 2 * kLanes;

  static void Pack(const PanelSource<StepKernel>& b, int64_t column,
                   int64_t width, A* to) {
    constexpr int64_t kItem = sizeof(A);
    if (width < kWidth) std::fill_n(to, b.k * kWidth, A(0));
    cpu::CopyPlane(
        kItem, b.k, width, reinterpret_cast<char*>(to), kWidth * kItem,
        reinterpret_cast<const char*>(b.data + column * b.column_stride),
        b.row_stride * kItem, b.column_stride * kItem);
  }

  template <int kRows, int kPanels>
  static void Run(const PanelBlock<StepKernel>& block) {
    Vector sums[kRows][kPanels][2] = {};
    const A* row = block.panel;
    for (int64_t q = 0; q < block.units; ++q, row += kWidth) {
      Vector b[kPanels][2];
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        b[p][0] = Vectors::Load(row + p * block.panel_stride);
        b[p][1] = Vectors::Load(row + p * block.panel_stride + kLanes);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        // In each lane.
        const Vector f = block.a[r * block.a_stride + q] - Vector{};
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p) {
          sums[r][p][0] = Vectors::MultiplyAdd(f, b[p][0], sums[r][p][0]);
          sums[r][p][1] = Vectors::MultiplyAdd(f, b[p][1], sums[r][p][1]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        const int64_t width = p + 1 < kPanels ? kWidth : block.width;
        const A* const base =
            block.base == nullptr
                ? nullptr
                : block.base + r * block.base_stride + p * kWidth;
        Put(sums[r][p], width, base, block.c + r * block.c_stride + p * kWidth);
      }
    }
  }

 private:
  static void Put(const Vector (&sums)[2], int64_t width, const A* base,
                  A* to) {
    if (width == kWidth) {
      for (int v = 0; v < 2; ++v) {
        const int64_t at = v * kLanes;
        Vectors::Store(to + at, base != nullptr
                                    ? Vectors::Load(base + at) + sums[v]
                                    : sums[v]);
      }
      return;
    }
    A lanes[kWidth];
    Vectors::Store(lanes, sums[0]);
    Vectors::Store(lanes + kLanes, sums[1]);
    for (int64_t j = 0; j < width; ++j)
      to[j] = base != nullptr ? base[j] + lanes[j] : lanes[j];
  }
};

// One of the strides of B is 1.
template <typename A>
class StepProduct {
 public:
  // `rows`: of A, in all calls together.
  StepProduct(const PanelSource<StepKernel<A>>& b, int64_t rows) : b_(b) {
    // For a few rows the copy does not pay.
    if (rows > 8 && b.k > 0) packed_.emplace(b);
  }

  // c [m, n] (+)= a [m, k]; both dense. Or a bias [n] more than the product,
  // where it is not added to c.
  void Run(const A* a, int64_t m, A* c, bool accumulate,
           const A* bias = nullptr) const {
    if (m == 0) return;
    if (!packed_) return RunOnce(a, m, c, accumulate, bias);
    packed_->Run(a, m, c, accumulate, bias);
  }

 private:
  void RunOnce(const A* a, int64_t m, A* c, bool accumulate,
               const A* bias) const {
    Tensor sum;
    GemmProblem p;
    p.dtype = kDTypeOf<A>;
    p.m = m;
    p.n = b_.n;
    p.k = b_.k;
    p.a.data = a;
    p.a.row_stride = b_.k;
    p.a.column_stride = 1;
    p.b.data = b_.data;
    p.b.row_stride = b_.row_stride;
    p.b.column_stride = b_.column_stride;
    p.c = c;
    p.bias = bias;
    if (accumulate) {
      sum = Tensor::Empty({m * b_.n}, kDTypeOf<A>, Place());
      p.c = sum.raw_data();
    }
    Gemm(p);
    if (!accumulate) return;
    const A* from = sum.data<A>();
    for (int64_t i = 0; i < m * b_.n; ++i) c[i] += from[i];
  }

  PanelSource<StepKernel<A>> b_;
  std::optional<PanelProduct<StepKernel<A>>> packed_;
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_RECURRENT_STEP_PRODUCT_H_
