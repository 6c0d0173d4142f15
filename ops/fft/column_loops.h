// The inner loops of Fourier transforms, compiled for each instruction set.
//
// They work on *rows*: row k holds element k of as many lines as a vector has
// lanes, first the real parts and then the imaginary ones, 2 * lanes numbers.
// So whole vectors are all that a transform of any length computes with.
// Transforms are forward; the other direction exchanges the two parts on the
// way in and on the way out.
#ifndef PROA_OPS_FFT_COLUMN_LOOPS_H_
#define PROA_OPS_FFT_COLUMN_LOOPS_H_

#include <cstdint>

namespace proa::inline v0::ops::fft {

// One step of a transform of n = before * radix * after points: transforms of
// `radix` points, which are then turned.
template <typename T>
struct ColumnPass {
  int64_t radix, before, after;
  // exp(-2 pi i j k before / n) for k < after and 0 < j < radix, cos and sin of
  // one after the other.
  const T* turns;
  // Of a radix without an unrolled loop, a prime p: cos and sin of 2 pi j k / p
  // for 0 < j, k <= p / 2, k in blocks of kPrimeBlock:
  // [block][j][kPrimeBlock][2].
  const T* prime;
};

inline constexpr int64_t kPrimeBlock = 4;

// Where a pass reads: element k is at from + k * row, a row; or, if `half` is
// not 0, complex numbers of columns: those of the first half of the lanes there
// and those of the second half `half` numbers after them. `swap` exchanges real
// and imaginary parts of columns.
template <typename T>
struct PassSource {
  const T* from;
  int64_t row;
  int64_t half = 0;
  bool swap = false;
};

// Where a pass writes, likewise; only the last pass writes columns, times
// `factor`, or turned rows. Rows are turned each by a row of `turns` and,
// unless that is null, by a number of `more`.
template <typename T>
struct PassSink {
  T* to;
  int64_t row;
  int64_t half = 0;
  bool swap = false;
  T factor = 1;
  const T* turns = nullptr;
  const T* more = nullptr;
};

template <typename T>
struct FftLoops {
  int64_t lanes;

  // `work` has room for 2 * radix rows. What is written may be what was read
  // by a pass that is alone.
  void (*pass)(const ColumnPass<T>& pass, const PassSource<T>& in,
               const PassSink<T>& out, T* work);

  // Steps of a transform of a prime p by a convolution (rader.h). to[q] = point
  // powers[q] of the points first, first + step, ...; point 0 to `zero`.
  void (*gather)(const PassSource<T>& in, int64_t first, int64_t step,
                 const int32_t* powers, int64_t n, T* to, T* zero);
  // rows[k] times filter[k], swapped. Row 0 is at first the sum of all rows:
  // `zero` becomes what it was plus that sum, and is added to the product.
  void (*filter)(const T* filter, int64_t n, T* rows, T* zero);
  // The way back: rows[q], swapped, is result powers[n - q], and `zero` result
  // 0; turned by `turns` unless that is null.
  void (*scatter)(const T* rows, const T* zero, const int32_t* powers,
                  int64_t n, const T* turns, const PassSink<T>& out, int64_t to,
                  int64_t to_step);

  // Rows from columns that lie side by side: element k of column l < count is
  // at from + k * row + 2 * l. The lanes after them become 0. `swap` exchanges
  // real and imaginary parts.
  void (*load_columns)(const T* from, int64_t row, int64_t n, int64_t count,
                       bool swap, T* to);
  // The way back, multiplied by `factor`.
  void (*store_columns)(const T* from, int64_t n, int64_t count, bool swap,
                        T factor, T* to, int64_t row);
  // Rows from columns of real numbers at from + k * row + l. If `pairs`, two
  // numbers become one complex one, n rows from 2 n numbers; else imaginary
  // parts are 0.
  void (*load_real_columns)(const T* from, int64_t row, int64_t n,
                            int64_t count, bool pairs, bool swap, T* to);
  // The way back; imaginary parts that are no numbers of pairs are dropped.
  void (*store_real_columns)(const T* from, int64_t n, int64_t count,
                             bool pairs, bool swap, T factor, T* to,
                             int64_t row);
  // Rows from lines of n complex numbers each, one for each lane.
  void (*load_lines)(const T* const* lines, int64_t n, bool swap, T* to);
  void (*store_lines)(const T* from, int64_t n, bool swap, T factor,
                      T* const* lines);
  // Rows from lines of n real numbers.
  void (*load_real_lines)(const T* const* lines, int64_t n, bool swap, T* to);
  void (*store_real_lines)(const T* from, int64_t n, bool swap, T factor,
                           T* const* lines);

  // The spectrum of 2 m real numbers, m + 1 rows, of the transform of m pairs,
  // m rows, both not swapped; imaginary parts are multiplied by `sign`.
  // turns: exp(-2 pi i k / (2 m)) for k <= m / 2.
  void (*split_rows)(const T* from, int64_t m, const T* turns, T sign, T* to);
  // The way back, for a backward transform: its results are swapped. Those of
  // 2 m numbers not divided.
  void (*join_rows)(const T* from, int64_t m, const T* turns, T sign, T* to);
  // The same of one line of complex numbers; split_line in place, and times
  // `factor`.
  void (*split_line)(T* line, int64_t m, const T* turns, T sign, T factor);
  void (*join_line)(const T* from, int64_t m, const T* turns, T sign, T* to);
  // Of the first n / 2 + 1 of n rows (n is odd) the others, conjugates.
  void (*mirror_rows)(T* rows, int64_t n, bool swap);

  // Row c of `to` has, in lane l, element c of what starts at starts[l], and an
  // imaginary part that lies `lanes` numbers after it. `columns` rows, a
  // multiple of lanes / 2, that are `row` numbers apart.
  void (*transpose)(const T* const* starts, int64_t columns, T* to,
                    int64_t row);

  // Lines of complex numbers: to = a b.
  void (*multiply)(const T* a, const T* b, int64_t n, T* to);
};

// Of float or double, for the instruction set of this machine.
template <typename T>
const FftLoops<T>& FindFftLoops();

}  // namespace proa::inline v0::ops::fft

namespace proa::inline v0::ops {
#define PROA_DECLARE_FFT_LOOPS(isa)              \
  namespace isa {                                \
  const fft::FftLoops<float>& FloatFftLoops();   \
  const fft::FftLoops<double>& DoubleFftLoops(); \
  }
PROA_DECLARE_FFT_LOOPS(sse2)
PROA_DECLARE_FFT_LOOPS(avx2)
PROA_DECLARE_FFT_LOOPS(avx512)
#undef PROA_DECLARE_FFT_LOOPS
}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_FFT_COLUMN_LOOPS_H_
