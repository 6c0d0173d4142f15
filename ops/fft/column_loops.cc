// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/fft/column_loops.h"

#include "ops/fft/butterflies.h"
#include "ops/fft/column_moves.h"
#include "ops/fft/half_spectra.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using fft::ColumnPass;
using fft::FftLoops;
using fft::kPrimeBlock;

template <typename T, int radix, bool turned>
[[gnu::always_inline]] inline void Butterfly(const T* in, int64_t in_step,
                                             const T* turns, T* out,
                                             int64_t out_step) {
  using V = VectorOf<T>;
  typename V::Type re[radix], im[radix];
  Repeat<radix>([&](auto j) __attribute__((always_inline)) {
    re[j] = V::Load(in + j * in_step);
    im[j] = V::Load(in + j * in_step + V::kLanes);
  });
  Dft<T, radix>::Run(re, im);
  Repeat<radix>([&](auto j) __attribute__((always_inline)) {
    if constexpr (turned && j > 0) {
      const T c = turns[2 * j - 2], s = turns[2 * j - 1];
      V::Store(out + j * out_step, re[j] * c - im[j] * s);
      V::Store(out + j * out_step + V::kLanes, im[j] * c + re[j] * s);
    } else {
      V::Store(out + j * out_step, re[j]);
      V::Store(out + j * out_step + V::kLanes, im[j]);
    }
  });
}

template <typename T, int radix>
void RunPass(const ColumnPass<T>& pass, const T* in, int64_t in_row, T* out) {
  constexpr int64_t kRow = 2 * VectorOf<T>::kLanes;
  const int64_t before = pass.before, after = pass.after;
  for (int64_t k = 0; k < before; ++k) {
    Butterfly<T, radix, false>(in + radix * after * k * in_row, after * in_row,
                               nullptr, out + after * k * kRow,
                               after * before * kRow);
  }
  for (int64_t i = 1; i < after; ++i) {
    const T* const turns = pass.turns + i * 2 * (radix - 1);
    for (int64_t k = 0; k < before; ++k) {
      Butterfly<T, radix, true>(
          in + (i + radix * after * k) * in_row, after * in_row, turns,
          out + (i + after * k) * kRow, after * before * kRow);
    }
  }
}

// Sums and differences of points j and p - j into work [p / 2][2 rows]; returns
// the sum of all in `re`, `im`.
template <typename T>
void SumsAndDifferences(const T* in, int64_t step, int64_t p, T* work,
                        typename VectorOf<T>::Type& re,
                        typename VectorOf<T>::Type& im) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  re = V::Load(in);
  im = V::Load(in + kLanes);
  for (int64_t j = 1; j <= p / 2; ++j) {
    const T *const a = in + j * step, *const b = in + (p - j) * step;
    T* const w = work + (j - 1) * 4 * kLanes;
    const auto ar = V::Load(a), ai = V::Load(a + kLanes);
    const auto br = V::Load(b), bi = V::Load(b + kLanes);
    V::Store(w, ar + br);
    V::Store(w + kLanes, ai + bi);
    V::Store(w + 2 * kLanes, ar - br);
    V::Store(w + 3 * kLanes, ai - bi);
    re += ar + br;
    im += ai + bi;
  }
}

// One transform of p points, a prime; OddPrimeDft with loops.
template <typename T>
void PrimeButterfly(const ColumnPass<T>& pass, const T* in, int64_t in_step,
                    const T* turns, T* out, int64_t out_step, T* work) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  constexpr int kBlock = kPrimeBlock;
  const int64_t p = pass.radix, h = p / 2;
  typename V::Type sum_re, sum_im;
  const auto re = V::Load(in), im = V::Load(in + kLanes);
  SumsAndDifferences(in, in_step, p, work, sum_re, sum_im);
  V::Store(out, sum_re);
  V::Store(out + kLanes, sum_im);
  const T* table = pass.prime;
  for (int64_t block = 0; block < h; block += kBlock) {
    typename V::Type ar[kBlock], ai[kBlock], br[kBlock], bi[kBlock];
    Repeat<kBlock>([&](auto k) __attribute__((always_inline)) {
      ar[k] = re;
      ai[k] = im;
      br[k] = bi[k] = typename V::Type{};
    });
    for (int64_t j = 0; j < h; ++j, table += 2 * kBlock) {
      const T* const w = work + j * 4 * kLanes;
      const auto sr = V::Load(w), si = V::Load(w + kLanes);
      const auto dr = V::Load(w + 2 * kLanes), di = V::Load(w + 3 * kLanes);
      Repeat<kBlock>([&](auto k) __attribute__((always_inline)) {
        ar[k] += sr * table[2 * k];
        ai[k] += si * table[2 * k];
        br[k] += dr * table[2 * k + 1];
        bi[k] += di * table[2 * k + 1];
      });
    }
    Repeat<kBlock>([&](auto k) __attribute__((always_inline)) {
      const int64_t at = block + k + 1;
      if (at > h) return;
      auto store = [&](int64_t j, auto r, auto i) {
        T* const to = out + j * out_step;
        if (turns == nullptr) {
          V::Store(to, r);
          V::Store(to + kLanes, i);
        } else {
          const T c = turns[2 * j - 2], s = turns[2 * j - 1];
          V::Store(to, r * c - i * s);
          V::Store(to + kLanes, i * c + r * s);
        }
      };
      store(at, ar[k] + bi[k], ai[k] - br[k]);
      store(p - at, ar[k] - bi[k], ai[k] + br[k]);
    });
  }
}

template <typename T>
void RunPrimePass(const ColumnPass<T>& pass, const T* in, int64_t in_row,
                  T* out, T* work) {
  constexpr int64_t kRow = 2 * VectorOf<T>::kLanes;
  const int64_t before = pass.before, after = pass.after, p = pass.radix;
  for (int64_t i = 0; i < after; ++i) {
    const T* const turns = i == 0 ? nullptr : pass.turns + i * 2 * (p - 1);
    for (int64_t k = 0; k < before; ++k) {
      PrimeButterfly(pass, in + (i + p * after * k) * in_row, after * in_row,
                     turns, out + (i + after * k) * kRow, after * before * kRow,
                     work);
    }
  }
}

template <typename T>
void RunAnyPass(const ColumnPass<T>& pass, const T* in, int64_t in_row, T* out,
                T* work) {
  switch (pass.radix) {
#define PROA_RADIX(r) \
  case r:             \
    return RunPass<T, r>(pass, in, in_row, out);
    PROA_RADIX(2)
    PROA_RADIX(3)
    PROA_RADIX(4)
    PROA_RADIX(5)
    PROA_RADIX(6)
    PROA_RADIX(7)
    PROA_RADIX(8)
    PROA_RADIX(9)
    PROA_RADIX(10)
    PROA_RADIX(11)
    PROA_RADIX(12)
    PROA_RADIX(13)
    PROA_RADIX(15)
    PROA_RADIX(16)
#undef PROA_RADIX
    default:
      return RunPrimePass(pass, in, in_row, out, work);
  }
}

template <typename T>
const FftLoops<T>& Loops() {
  static constexpr FftLoops<T> kLoops = {
      .lanes = VectorOf<T>::kLanes,
      .pass = RunAnyPass<T>,
      .load_columns = LoadColumns<T>,
      .store_columns = StoreColumns<T>,
      .load_real_columns = LoadRealColumns<T>,
      .store_real_columns = StoreRealColumns<T>,
      .load_lines = LoadLines<T>,
      .store_lines = StoreLines<T>,
      .load_real_lines = LoadRealLines<T>,
      .store_real_lines = StoreRealLines<T>,
      .split_rows = SplitRows<T>,
      .join_rows = JoinRows<T>,
      .split_line = SplitLine<T>,
      .join_line = JoinLine<T>,
      .mirror_rows = MirrorRows<T>,
      .turn_and_transpose = TurnAndTranspose<T>,
      .multiply = Multiply<T>,
  };
  return kLoops;
}

}  // namespace

const FftLoops<float>& FloatFftLoops() { return Loops<float>(); }
const FftLoops<double>& DoubleFftLoops() { return Loops<double>(); }

}  // namespace proa::inline v0::ops::PROA_ISA
