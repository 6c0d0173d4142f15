// LowStepProduct: StepProduct (step_product.h) with operands that are rounded
// to bfloat16, and sums of float32, for CPUs that have instructions for that;
// compiled once per instruction set.
//
// Pairs of k stand side by side, as the instruction reads them: A is rounded
// into such pairs in each call, B is of bfloat16.
#ifndef PROA_OPS_RECURRENT_LOW_STEP_PRODUCT_H_
#define PROA_OPS_RECURRENT_LOW_STEP_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/primitives/cpu/blocks.h"
#include "ops/recurrent/panel_product.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace proa::inline v0::ops::PROA_ISA {

#if defined(__AVX512F__)
struct LowStepKernel {
  using Source = bfloat16;
  using Unit = uint32_t;  // a pair
  using Sum = float;
  static constexpr int64_t kPerUnit = 2;
  static constexpr int kMostRows = 12;
  static constexpr int64_t kWidth = 32;  // two vectors

  static void Pack(const PanelSource<LowStepKernel>& b, int64_t column,
                   int64_t width, uint32_t* to) {
    auto* const panel = reinterpret_cast<bfloat16*>(to);
    const bfloat16* const from = b.data + column * b.column_stride;
    for (int64_t q = 0; q < 2 * b.units(); ++q) {
      bfloat16* const pair = panel + q / 2 * 2 * kWidth + q % 2;
      for (int64_t j = 0; j < kWidth; ++j)
        pair[2 * j] = q < b.k && j < width
                          ? from[q * b.row_stride + j * b.column_stride]
                          : bfloat16(0.f);
    }
  }

  template <int kRows, int kPanels>
  __attribute__((target("avx512bf16"))) static void Run(
      const PanelBlock<LowStepKernel>& block) {
    __m512 sums[kRows][kPanels][2];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p)
        sums[r][p][0] = sums[r][p][1] = _mm512_setzero_ps();
    }
    const uint32_t* row = block.panel;
    for (int64_t q = 0; q < block.units; ++q, row += kWidth) {
      __m512bh b[kPanels][2];
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        const uint32_t* const at = row + p * block.panel_stride;
        b[p][0] = (__m512bh)_mm512_loadu_si512(at);
        b[p][1] = (__m512bh)_mm512_loadu_si512(at + 16);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const __m512bh f = (__m512bh)_mm512_set1_epi32(
            static_cast<int>(block.a[r * block.a_stride + q]));  // in each lane
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p) {
          sums[r][p][0] = _mm512_dpbf16_ps(sums[r][p][0], f, b[p][0]);
          sums[r][p][1] = _mm512_dpbf16_ps(sums[r][p][1], f, b[p][1]);
        }
      }
    }
    const __mmask16 all = 0xffff,
                    last[2] = {Lanes(block.width), Lanes(block.width - 16)};
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        for (int v = 0; v < 2; ++v) {
          const int64_t at = p * kWidth + 16 * v;
          const __mmask16 mask = p + 1 < kPanels ? all : last[v];
          __m512 sum = sums[r][p][v];
          if (block.base != nullptr) {
            const float* const base = block.base + r * block.base_stride + at;
            sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, base), sum);
          }
          _mm512_mask_storeu_ps(block.c + r * block.c_stride + at, mask, sum);
        }
      }
    }
  }

 private:
  static __mmask16 Lanes(int64_t n) {
    return static_cast<__mmask16>((1u << std::clamp<int64_t>(n, 0, 16)) - 1);
  }
};

class LowStepProduct {
 public:
  static bool IsSupported() {
    return __builtin_cpu_supports("avx512bf16") != 0;
  }

  explicit LowStepProduct(const PanelSource<LowStepKernel>& b)
      : k_(b.k), pairs_(b.units()), packed_(b) {}

  // c [m, n] (+)= a [m, k]; both dense.
  void Run(const float* a, int64_t m, float* c, bool accumulate) const {
    if (m == 0) return;
    const Tensor rounded =
        Tensor::Empty({m * pairs_ * 2}, DType::kBFloat16, Place());
    Round(a, m, rounded.data<bfloat16>());
    packed_.Run(static_cast<const uint32_t*>(rounded.raw_data()), m, c,
                accumulate);
  }

 private:
  void Round(const float* a, int64_t m, bfloat16* to) const {
    const auto convert = FindConvert(DType::kFloat32, DType::kBFloat16);
    if (k_ % 2 == 0) return convert(a, to, m * k_);
    for (int64_t i = 0; i < m; ++i, to += 2 * pairs_) {
      convert(a + i * k_, to, k_);
      to[k_] = bfloat16(0.f);
    }
  }

  int64_t k_, pairs_;
  PanelProduct<LowStepKernel> packed_;
};

#else

// There are no such instructions.
struct LowStepKernel {
  using Source = bfloat16;
};

class LowStepProduct {
 public:
  static bool IsSupported() { return false; }
  template <typename Source>
  explicit LowStepProduct(const Source&) {}
  void Run(const float*, int64_t, float*, bool) const {}
};

#endif

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_RECURRENT_LOW_STEP_PRODUCT_H_
