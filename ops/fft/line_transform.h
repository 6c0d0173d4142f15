// Fourier transforms of some lines of numbers at once.
//
//   LineTransform<float>& transform = LineTransform<float>::OfThread();
//   transform.Complex({.lines = in, .count = 4}, {.lines = out, .count = 4}, n,
//                     /*forward=*/true, /*factor=*/1);
//
// Lines are transformed side by side, one in each lane of vectors, or one after
// the other with vectors along them, as is faster (column_plan.h, line_plan.h).
// Any length costs O(n log n). What a line becomes does not depend on the
// others but for the last bits.
#ifndef PROA_OPS_FFT_LINE_TRANSFORM_H_
#define PROA_OPS_FFT_LINE_TRANSFORM_H_

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ops/fft/column_plan.h"
#include "ops/fft/line_plan.h"

namespace proa::inline v0::ops::fft {

// Intermediate lines are up to four times as long, and their bytes are counted.
inline constexpr int64_t kMaxPoints = int64_t{1} << 26;

// `count` lines: dense ones that start at lines[l]; or, if `lines` is null,
// columns, element k of line l at columns[k * row + l].
template <typename E>
struct LineBlock {
  E* const* lines = nullptr;
  E* columns = nullptr;
  int64_t row = 0;
  int64_t count = 0;
};

// T is float or double. What a length needs is kept, up to a limit. Not
// thread-safe; each thread has its own. n is in [1, kMaxPoints]. Results may
// lie where lines of the same size and place came from.
template <typename T>
class LineTransform {
 public:
  using C = std::complex<T>;

  static LineTransform& OfThread();

  // out[k] = factor sum_j in[j] exp(-+ 2 pi i j k / n), minus if forward.
  void Complex(const LineBlock<const C>& in, const LineBlock<C>& out, int64_t n,
               bool forward, T factor);
  // The first n / 2 + 1 of these, of real numbers.
  void RealToHalf(const LineBlock<const T>& in, const LineBlock<C>& out,
                  int64_t n, bool forward, T factor);
  // The n real numbers whose frequencies are `in` and their conjugates.
  // Imaginary parts that must be 0 are taken for it.
  void HalfToReal(const LineBlock<const C>& in, const LineBlock<T>& out,
                  int64_t n, bool forward, T factor);

  // Lines of n points that are best given at once, the lanes of a vector.
  static int64_t Lanes();
  // Whether columns of n points can be given; `real`: to or from real numbers.
  static bool TakesColumns(int64_t n, bool real);

  // Bytes kept for all lengths.
  int64_t kept() const { return kept_; }

 private:
  // For lines of n complex numbers; what is made at the first need.
  struct Plan {
    std::optional<ColumnPlan<T>> columns;
    std::optional<TwoStep<T>> two_step;
    std::optional<Bluestein> bluestein;
    double column_cost, line_cost;  // of one vector, of one line
  };
  struct Rows {
    T *a, *b, *work;
  };

  Plan& Of(int64_t n);
  const T* Turns(int64_t n);
  void Keep(int64_t bytes);
  bool Together(const Plan& plan, int64_t count, bool lines) const;
  const ColumnPlan<T>& Columns(Plan& plan, int64_t n);
  Rows RowsOf(const ColumnPlan<T>& plan, int64_t rows);
  // One line after the other, or two.
  void AlongLines(const Plan& plan, const C* const* in, C* const* out,
                  int64_t count, bool forward, T factor);
  void RealAlongLines(const Plan& plan, const T* const* in, C* const* out,
                      int64_t count, int64_t n, bool forward, T factor);
  void RealBackAlongLines(const Plan& plan, const C* const* in, T* const* out,
                          int64_t count, int64_t n, bool forward, T factor);

  std::map<int64_t, std::unique_ptr<Plan>> plans_;
  std::map<int64_t, std::vector<T>> turns_;
  Scratch<T> scratch_;
  Scratch<double> line_, convolution_;
  std::vector<C> buffer_;
  std::vector<C> unused_;
  int64_t kept_ = 0;
};

extern template class LineTransform<float>;
extern template class LineTransform<double>;

}  // namespace proa::inline v0::ops::fft

#endif  // PROA_OPS_FFT_LINE_TRANSFORM_H_
