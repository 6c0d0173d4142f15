// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/fft/column_loops.h"

#include <utility>

#include "ops/fft/butterflies.h"
#include "ops/fft/column_moves.h"
#include "ops/fft/half_spectra.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using fft::ColumnPass;
using fft::FftLoops;
using fft::kPrimeBlock;

using fft::PassSink;
using fft::PassSource;

// Keeps the compiler from computing all addresses before the loop, for which
// there are too few registers.
template <typename P>
[[gnu::always_inline]] inline void OneByOne(P*& p) {
  asm("" : "+r"(p));
}

template <typename T>
struct Point {
  typename VectorOf<T>::Type re, im;
};

template <typename T>
[[gnu::always_inline]] inline Point<T> LoadPoint(const PassSource<T>& in,
                                                 const T* at) {
  using V = VectorOf<T>;
  if (in.half == 0) return {V::Load(at), V::Load(at + V::kLanes)};
  auto a = V::Load(at), b = V::Load(at + in.half);
  TakeApart<T>(a, b, kAllLanes<T>);
  return in.swap ? Point<T>{b, a} : Point<T>{a, b};
}

// Of the last pass: row k, which lies at `at`.
template <typename T>
[[gnu::always_inline]] inline void StorePoint(const PassSink<T>& out, int64_t k,
                                              T* at,
                                              typename VectorOf<T>::Type re,
                                              typename VectorOf<T>::Type im) {
  using V = VectorOf<T>;
  if (out.half != 0) {
    auto a = (out.swap ? im : re) * out.factor;
    auto b = (out.swap ? re : im) * out.factor;
    PutTogether<T>(a, b, kAllLanes<T>);
    V::Store(at, a);
    V::Store(at + out.half, b);
    return;
  }
  if (out.turns != nullptr) {
    if (out.more != nullptr) {
      const T c = out.more[2 * k], s = out.more[2 * k + 1];
      const auto r = re * c - im * s;
      im = im * c + re * s;
      re = r;
    }
    const T* const turns = out.turns + k * 2 * V::kLanes;
    const auto c = V::Load(turns), s = V::Load(turns + V::kLanes);
    const auto r = re * c - im * s;
    im = im * c + re * s;
    re = r;
  }
  V::Store(at, re);
  V::Store(at + V::kLanes, im);
}

// The transform of points `first`, first + step, ... to rows `to`, to +
// to_step,
// ...
template <typename T, int radix, bool turned>
[[gnu::always_inline]] inline void Butterfly(const PassSource<T>& in,
                                             int64_t first, int64_t step,
                                             const T* turns,
                                             const PassSink<T>& out, int64_t to,
                                             int64_t to_step) {
  using V = VectorOf<T>;
  typename V::Type re[radix], im[radix];
  const T* from = in.from + first * in.row;
  step *= in.row;
  if (in.half == 0) {
    Repeat<radix>([&](auto j) __attribute__((always_inline)) {
      re[j] = V::Load(from);
      im[j] = V::Load(from + V::kLanes);
      from += step;
      OneByOne(from);
    });
  } else {
    const T* half = from + in.half;
    Repeat<radix>([&](auto j) __attribute__((always_inline)) {
      re[j] = V::Load(from);
      im[j] = V::Load(half);
      TakeApart<T>(re[j], im[j], kAllLanes<T>);
      from += step;
      half += step;
      OneByOne(from);
      OneByOne(half);
    });
    if (in.swap) {
      Repeat<radix>([&](auto j) __attribute__((always_inline)) {
        std::swap(re[j], im[j]);
      });
    }
  }
  Dft<T, radix>::Run(re, im);
  T* at = out.to + to * out.row;
  const int64_t at_step = to_step * out.row;
  if constexpr (turned) {
    Repeat<radix>([&](auto j) __attribute__((always_inline)) {
      if constexpr (j > 0) {
        const T c = turns[2 * j - 2], s = turns[2 * j - 1];
        V::Store(at, re[j] * c - im[j] * s);
        V::Store(at + V::kLanes, im[j] * c + re[j] * s);
      } else {
        V::Store(at, re[j]);
        V::Store(at + V::kLanes, im[j]);
      }
      at += at_step;
      OneByOne(at);
    });
  } else if (out.half == 0 && out.turns == nullptr) {
    Repeat<radix>([&](auto j) __attribute__((always_inline)) {
      V::Store(at, re[j]);
      V::Store(at + V::kLanes, im[j]);
      at += at_step;
      OneByOne(at);
    });
  } else if (out.half != 0) {
    const T factor = out.factor;
    if (out.swap) {
      Repeat<radix>([&](auto j) __attribute__((always_inline)) {
        std::swap(re[j], im[j]);
      });
    }
    T* half = at + out.half;
    Repeat<radix>([&](auto j) __attribute__((always_inline)) {
      re[j] *= factor;
      im[j] *= factor;
      PutTogether<T>(re[j], im[j], kAllLanes<T>);
      V::Store(at, re[j]);
      V::Store(half, im[j]);
      at += at_step;
      half += at_step;
      OneByOne(at);
      OneByOne(half);
    });
  } else {
    if (const T* more = out.more; more != nullptr) {
      more += 2 * to;
      Repeat<radix>([&](auto j) __attribute__((always_inline)) {
        const T c = more[0], s = more[1];
        const auto r = re[j] * c - im[j] * s;
        im[j] = im[j] * c + re[j] * s;
        re[j] = r;
        more += 2 * to_step;
        OneByOne(more);
      });
    }
    const T* by = out.turns + to * 2 * V::kLanes;
    Repeat<radix>([&](auto j) __attribute__((always_inline)) {
      const auto c = V::Load(by), s = V::Load(by + V::kLanes);
      V::Store(at, re[j] * c - im[j] * s);
      V::Store(at + V::kLanes, im[j] * c + re[j] * s);
      by += to_step * 2 * V::kLanes;
      at += at_step;
      OneByOne(by);
      OneByOne(at);
    });
  }
}

template <typename T, int radix>
void RunPass(const ColumnPass<T>& pass, const PassSource<T>& in,
             const PassSink<T>& out) {
  const int64_t before = pass.before, after = pass.after;
  for (int64_t k = 0; k < before; ++k) {
    Butterfly<T, radix, false>(in, radix * after * k, after, nullptr, out,
                               after * k, after * before);
  }
  for (int64_t i = 1; i < after; ++i) {
    const T* const turns = pass.turns + i * 2 * (radix - 1);
    for (int64_t k = 0; k < before; ++k) {
      Butterfly<T, radix, true>(in, i + radix * after * k, after, turns, out,
                                i + after * k, after * before);
    }
  }
}

// Sums and differences of points j and p - j into work [p / 2][2 rows]; the sum
// of all is added to `sum`.
template <typename T>
void SumsAndDifferences(const PassSource<T>& in, int64_t first, int64_t step,
                        int64_t p, T* work, Point<T>& sum) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  const T* from = in.from + first * in.row;
  step *= in.row;
  for (int64_t j = 1; j <= p / 2; ++j) {
    const auto [ar, ai] = LoadPoint(in, from + j * step);
    const auto [br, bi] = LoadPoint(in, from + (p - j) * step);
    T* const w = work + (j - 1) * 4 * kLanes;
    V::Store(w, ar + br);
    V::Store(w + kLanes, ai + bi);
    V::Store(w + 2 * kLanes, ar - br);
    V::Store(w + 3 * kLanes, ai - bi);
    sum.re += ar + br;
    sum.im += ai + bi;
  }
}

// One transform of p points, a prime; OddPrimeDft with loops.
template <typename T>
void PrimeButterfly(const ColumnPass<T>& pass, const PassSource<T>& in,
                    int64_t first, int64_t step, const T* turns,
                    const PassSink<T>& out, int64_t to, int64_t to_step,
                    T* work) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  constexpr int kBlock = kPrimeBlock;
  const int64_t p = pass.radix, h = p / 2;
  const auto store = [&](int64_t j, auto re, auto im) {
    if (turns != nullptr && j > 0) {
      const T c = turns[2 * j - 2], s = turns[2 * j - 1];
      const auto r = re * c - im * s;
      im = im * c + re * s;
      re = r;
    }
    const int64_t k = to + j * to_step;
    StorePoint(out, k, out.to + k * out.row, re, im);
  };
  const Point<T> zero = LoadPoint(in, in.from + first * in.row);
  Point<T> sum = zero;
  SumsAndDifferences(in, first, step, p, work, sum);
  store(0, sum.re, sum.im);
  const T* table = pass.prime;
  for (int64_t block = 0; block < h; block += kBlock) {
    typename V::Type ar[kBlock], ai[kBlock], br[kBlock], bi[kBlock];
    Repeat<kBlock>([&](auto k) __attribute__((always_inline)) {
      ar[k] = zero.re;
      ai[k] = zero.im;
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
      store(at, ar[k] + bi[k], ai[k] - br[k]);
      store(p - at, ar[k] - bi[k], ai[k] + br[k]);
    });
  }
}

template <typename T>
void RunPrimePass(const ColumnPass<T>& pass, const PassSource<T>& in,
                  const PassSink<T>& out, T* work) {
  const int64_t before = pass.before, after = pass.after, p = pass.radix;
  for (int64_t i = 0; i < after; ++i) {
    const T* const turns = i == 0 ? nullptr : pass.turns + i * 2 * (p - 1);
    for (int64_t k = 0; k < before; ++k) {
      PrimeButterfly(pass, in, i + p * after * k, after, turns, out,
                     i + after * k, after * before, work);
    }
  }
}

template <typename T>
void Gather(const PassSource<T>& in, int64_t first, int64_t step,
            const int32_t* powers, int64_t n, T* to, T* zero) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  const PassSource<T> source = in;
  const T* const from = source.from + first * source.row;
  const auto copy = [&](int64_t point, T* row) {
    const auto [re, im] = LoadPoint(source, from + point * step * source.row);
    V::Store(row, re);
    V::Store(row + kLanes, im);
  };
  copy(0, zero);
  for (int64_t q = 0; q < n; ++q) copy(powers[q], to + q * 2 * kLanes);
}

template <typename T>
void Filter(const T* filter, int64_t n, T* rows, T* zero) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  const auto zero_re = V::Load(zero), zero_im = V::Load(zero + kLanes);
  V::Store(zero, zero_re + V::Load(rows));
  V::Store(zero + kLanes, zero_im + V::Load(rows + kLanes));
  for (int64_t k = 0; k < n; ++k) {
    T* const row = rows + k * 2 * kLanes;
    const auto re = V::Load(row), im = V::Load(row + kLanes);
    const T c = filter[2 * k], s = filter[2 * k + 1];
    V::Store(row + kLanes, re * c - im * s);
    V::Store(row, im * c + re * s);
  }
  V::Store(rows + kLanes, V::Load(rows + kLanes) + zero_re);
  V::Store(rows, V::Load(rows) + zero_im);
}

template <typename T>
void Scatter(const T* rows, const T* zero, const int32_t* powers, int64_t n,
             const T* turns, const PassSink<T>& out, int64_t to,
             int64_t to_step) {
  using V = VectorOf<T>;
  constexpr int64_t kLanes = V::kLanes;
  const PassSink<T> sink = out;
  const auto store = [&](int64_t j, auto re, auto im) {
    if (turns != nullptr && j > 0) {
      const T c = turns[2 * j - 2], s = turns[2 * j - 1];
      const auto r = re * c - im * s;
      im = im * c + re * s;
      re = r;
    }
    const int64_t k = to + j * to_step;
    StorePoint(sink, k, sink.to + k * sink.row, re, im);
  };
  store(0, V::Load(zero), V::Load(zero + kLanes));
  for (int64_t q = 0; q < n; ++q) {
    const T* const row = rows + q * 2 * kLanes;
    store(powers[q == 0 ? 0 : n - q], V::Load(row + kLanes), V::Load(row));
  }
}

template <typename T>
void RunAnyPass(const ColumnPass<T>& pass, const PassSource<T>& in,
                const PassSink<T>& out, T* work) {
  switch (pass.radix) {
#define PROA_RADIX(r) \
  case r:             \
    return RunPass<T, r>(pass, in, out);
    PROA_RADIX(1)
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
      return RunPrimePass(pass, in, out, work);
  }
}

template <typename T>
const FftLoops<T>& Loops() {
  static constexpr FftLoops<T> kLoops = {
      .lanes = VectorOf<T>::kLanes,
      .pass = RunAnyPass<T>,
      .gather = Gather<T>,
      .filter = Filter<T>,
      .scatter = Scatter<T>,
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
      .transpose = Transpose<T>,
      .multiply = Multiply<T>,
  };
  return kLoops;
}

}  // namespace

const FftLoops<float>& FloatFftLoops() { return Loops<float>(); }
const FftLoops<double>& DoubleFftLoops() { return Loops<double>(); }

}  // namespace proa::inline v0::ops::PROA_ISA
