// LowStepProduct: StepProduct (step_product.h) with operands that are rounded
// to bfloat16, and sums of float32, for CPUs that have instructions for that;
// compiled once per instruction set.
//
// Pairs of k stand side by side, as the instruction reads them: A is rounded
// into such pairs in each call, B once. Sums over k go in one order, whatever
// the rows and threads.
#ifndef PROA_OPS_RECURRENT_LOW_STEP_PRODUCT_H_
#define PROA_OPS_RECURRENT_LOW_STEP_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/primitives/cpu/blocks.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace proa::inline v0::ops::PROA_ISA {

#if defined(__AVX512F__)
namespace low_step_internal {

inline constexpr int kMostRows = 12;
inline constexpr int64_t kWidth = 32;  // columns of a panel: two vectors

// Rows of C, as wide as a panel, from so many pairs of k.
template <int kRows>
__attribute__((target("avx512bf16"))) void Block(
    int64_t pairs, const uint32_t* a, int64_t a_stride, const uint32_t* panel,
    float* c, int64_t c_stride, int64_t width, bool accumulate) {
  __m512 sums[kRows][2];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  for (int64_t q = 0; q < pairs; ++q) {
    const __m512bh b0 = (__m512bh)_mm512_loadu_si512(panel + q * kWidth);
    const __m512bh b1 = (__m512bh)_mm512_loadu_si512(panel + q * kWidth + 16);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512bh f = (__m512bh)_mm512_set1_epi32(
          static_cast<int>(a[r * a_stride + q]));  // in each lane
      sums[r][0] = _mm512_dpbf16_ps(sums[r][0], f, b0);
      sums[r][1] = _mm512_dpbf16_ps(sums[r][1], f, b1);
    }
  }
  const auto lanes = [width](int64_t first) {
    const int64_t n = std::clamp<int64_t>(width - first, 0, 16);
    return static_cast<__mmask16>((1u << n) - 1);
  };
  const __mmask16 mask[2] = {lanes(0), lanes(16)};
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < 2; ++v) {
      float* const to = c + r * c_stride + 16 * v;
      __m512 sum = sums[r][v];
      if (accumulate)
        sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask[v], to), sum);
      _mm512_mask_storeu_ps(to, mask[v], sum);
    }
  }
}

using BlockFunction = void (*)(int64_t, const uint32_t*, int64_t,
                               const uint32_t*, float*, int64_t, int64_t, bool);

template <int kRows = kMostRows>
BlockFunction BlockOf(int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return BlockOf<kRows - 1>(rows);
  }
  return &Block<kRows>;
}

}  // namespace low_step_internal

class LowStepProduct {
 public:
  static bool IsSupported() {
    return __builtin_cpu_supports("avx512bf16") != 0;
  }

  // B [k, n]: element (q, j) at data[q * row_stride + j * column_stride].
  LowStepProduct(const float* data, int64_t k, int64_t n, int64_t row_stride,
                 int64_t column_stride)
      : k_(k), n_(n), pairs_((k + 1) / 2) {
    packed_ = Tensor::Empty({Panels() * pairs_ * 2 * kWidth}, DType::kBFloat16,
                            Place());
    const int64_t grain =
        std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, k_ * kWidth));
    parallel_for(0, Panels(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        bfloat16* to = packed_.data<bfloat16>() + p * pairs_ * 2 * kWidth;
        const float* from = data + p * kWidth * column_stride;
        const int64_t width = std::min(kWidth, n_ - p * kWidth);
        for (int64_t q = 0; q < 2 * pairs_; ++q) {
          bfloat16* const pair = to + q / 2 * 2 * kWidth + q % 2;
          for (int64_t j = 0; j < kWidth; ++j)
            pair[2 * j] = bfloat16(
                q < k_ && j < width ? from[q * row_stride + j * column_stride]
                                    : 0.f);
        }
      }
    });
  }

  // c [m, n] (+)= a [m, k]; both dense.
  void Run(const float* a, int64_t m, float* c, bool accumulate) const {
    if (m == 0) return;
    const Tensor rounded =
        Tensor::Empty({m * pairs_ * 2}, DType::kBFloat16, Place());
    Round(a, m, rounded.data<bfloat16>());
    const auto* rows = static_cast<const uint32_t*>(rounded.raw_data());
    const int64_t grain =
        std::max<int64_t>(1, (1 << 19) / std::max<int64_t>(1, m * k_ * kWidth));
    const int64_t parts = std::max<int64_t>(1, (pairs_ + kDepth - 1) / kDepth);
    parallel_for(0, Panels(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = 0; row < m; row += kChunk) {
        const int64_t count = std::min(kChunk, m - row);
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t q = pairs_ * part / parts;
          const int64_t depth = pairs_ * (part + 1) / parts - q;
          for (int64_t p = begin; p < end; ++p)
            RunChunk(rows + row * pairs_ + q, count, q, depth, p, c + row * n_,
                     accumulate || part > 0);
        }
      }
    });
  }

 private:
  static constexpr int64_t kWidth = low_step_internal::kWidth;
  static constexpr int64_t kDepth = 384;  // pairs; see StepProduct
  static constexpr int64_t kChunk = 16 * low_step_internal::kMostRows;

  int64_t Panels() const { return (n_ + kWidth - 1) / kWidth; }

  void Round(const float* a, int64_t m, bfloat16* to) const {
    const auto convert = FindConvert(DType::kFloat32, DType::kBFloat16);
    if (k_ % 2 == 0) return convert(a, to, m * k_);
    for (int64_t i = 0; i < m; ++i, to += 2 * pairs_) {
      convert(a + i * k_, to, k_);
      to[k_] = bfloat16(0.f);
    }
  }

  void RunChunk(const uint32_t* a, int64_t m, int64_t q, int64_t depth,
                int64_t p, float* c, bool accumulate) const {
    using low_step_internal::kMostRows;
    const auto* panel = static_cast<const uint32_t*>(packed_.raw_data()) +
                        (p * pairs_ + q) * kWidth;
    const int64_t column = p * kWidth, blocks = (m + kMostRows - 1) / kMostRows;
    for (int64_t b = 0; b < blocks; ++b) {
      // Of nearly one size: a block of a row or two would wait for its sums.
      const int64_t row = m * b / blocks, rows = m * (b + 1) / blocks - row;
      low_step_internal::BlockOf(rows)(
          depth, a + row * pairs_, pairs_, panel, c + row * n_ + column, n_,
          std::min(kWidth, n_ - column), accumulate);
    }
  }

  int64_t k_, n_, pairs_;
  Tensor packed_;
};

#else

// There are no such instructions.
class LowStepProduct {
 public:
  static bool IsSupported() { return false; }
  LowStepProduct(const float*, int64_t, int64_t, int64_t, int64_t) {}
  void Run(const float*, int64_t, float*, bool) const {}
};

#endif

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_RECURRENT_LOW_STEP_PRODUCT_H_
