// How one dense line of complex numbers is transformed, vectors lying along it.
//
//   TwoStep: n = p q. Transforms of p over the columns of the matrix [p, q],
//   turns, the transpose, transforms of q over its columns: what comes out is
//   in order. All of it on rows (column_loops.h).
//   Bluestein: any n, as a convolution of some longer, smooth length, in double
//   precision.
#ifndef PROA_OPS_FFT_LINE_PLAN_H_
#define PROA_OPS_FFT_LINE_PLAN_H_

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/fft/column_plan.h"

namespace proa::inline v0::ops::fft {

// Numbers that start where a cache line does; contents are lost when it grows.
template <typename T>
class Scratch {
 public:
  T* Get(int64_t numbers);
  // Gives memory back if it is more than so many bytes.
  void Trim(int64_t bytes);

 private:
  struct Free {
    void operator()(T* p) const;
  };
  std::unique_ptr<T, Free> data_;
  int64_t size_ = 0;
};

// A transform of n = p q points in two steps, and what it costs in cycles; p is
// 0 if there is none.
struct Split {
  int64_t p, q;
  double cost;
};
template <typename T>
Split BestSplit(int64_t n);

template <typename T>
class TwoStep {
 public:
  TwoStep(int64_t p, int64_t q);

  // The transforms of `count` lines of n numbers, times `factor`; out[l] may be
  // in[l].
  void Run(const std::complex<T>* const* in, std::complex<T>* const* out,
           int64_t count, bool forward, T factor, Scratch<T>& scratch) const;
  int64_t numbers() const;

 private:
  using C = std::complex<T>;
  struct Room {
    T *a, *b, *work, *turned, *group, *middle;
  };

  // `blocks` blocks of columns from and to a line.
  void Load(const C* in, bool forward, int64_t block, int64_t blocks,
            T* to) const;
  void Store(const T* from, bool forward, T factor, int64_t block,
             int64_t blocks, C* out) const;
  // Steps of one line, or of two that share the lanes of vectors: with q * 2
  // lanes in the first step, with p * 2 lanes in the second.
  void First(const PassSource<T>& source, const Room& room, int64_t block,
             T* turned) const;
  void FirstOfLines(const C* in, const C* other, bool forward, const Room& room,
                    int64_t block, T* turned) const;
  void Transpose(const T* turned, const T* other, int64_t block,
                 const Room& room) const;
  void Second(C* out, C* other, bool forward, T factor, const Room& room) const;
  void RunLong(const C* in, C* out, bool forward, T factor,
               const Room& room) const;

  int64_t p_, q_, lanes_, p_blocks_, q_blocks_, q_rows_;
  bool first_pairs_, second_pairs_;
  ColumnPlan<T> first_, second_;
  // Element (k, j) of [p, q] is turned by k j / n: with j = b * lanes + l, by
  // fine_[k][l], and by coarse_[b][k] but for short lines, whose fine_ is
  // [b][k][l].
  std::vector<T> fine_, coarse_;
};

class Bluestein {
 public:
  explicit Bluestein(int64_t n);

  template <typename T>
  void Run(const std::complex<T>* in, std::complex<T>* out, bool forward,
           T factor, Scratch<double>& buffer, Scratch<double>& scratch) const;
  int64_t numbers() const;
  // Cycles of a transform of n points.
  static double Cost(int64_t n);

 private:
  int64_t n_, m_;
  TwoStep<double> convolution_;
  std::vector<std::complex<double>> chirp_, filter_;
};

extern template class Scratch<float>;
extern template class Scratch<double>;
extern template class TwoStep<float>;
extern template class TwoStep<double>;

}  // namespace proa::inline v0::ops::fft

#endif  // PROA_OPS_FFT_LINE_PLAN_H_
