// How a Fourier transform of some length is done on rows (column_loops.h): its
// radices and the turns between them.
//
//   ColumnPlan<float> plan(360);
//   plan.Run({.from = x, .row = 32}, {.to = y, .row = 32}, a, b, work);
//
// Immutable once made; cheap to run, dear to make.
#ifndef PROA_OPS_FFT_COLUMN_PLAN_H_
#define PROA_OPS_FFT_COLUMN_PLAN_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "ops/fft/column_loops.h"
#include "ops/fft/rader.h"

namespace proa::inline v0::ops::fft {

// Larger prime factors p go by Rader's algorithm, up to a length at which rows
// leave the caches, if those of p - 1 are not larger again.
inline constexpr int64_t kLargestPrime = 199;
inline constexpr int64_t kLargestRader = 4096;

// Whether there is a ColumnPlan of n points, n >= 1.
bool HasColumnPlan(int64_t n);

// exp(-2 pi i k / n), exact in each last bit but one.
std::complex<double> TurnOf(int64_t k, int64_t n);

// The largest prime factor of n >= 1, or 1.
int64_t LargestFactor(int64_t n);

// Rows that stay in the first cache.
inline constexpr int64_t kNearBytes = 40960;

// What a transform of n points costs for each of its rows of row_bytes, in
// cycles; `radices` are then those of the cheapest way.
double CostOf(int64_t n, int64_t row_bytes, std::vector<int64_t>* radices);

template <typename T>
class ColumnPlan {
 public:
  // HasColumnPlan(n).
  explicit ColumnPlan(int64_t n);

  // Transforms n elements of all lanes. a and b have room for n rows each,
  // `work` for work_rows(); `in` may be a or what `out` is.
  void Run(const PassSource<T>& in, const PassSink<T>& out, T* a, T* b,
           T* work) const;
  // The same of rows in a. The result is in a or b.
  T* RunRows(T* a, T* b, T* work) const;

  int64_t points() const { return n_; }
  int64_t work_rows() const { return work_rows_; }
  // Numbers kept.
  int64_t numbers() const;

 private:
  int64_t n_, work_rows_ = 0;
  std::vector<ColumnPass<T>> passes_;
  std::vector<Rader<T>> raders_;  // of passes of large primes, in order
  std::vector<T> numbers_;        // of all passes
};

extern template class ColumnPlan<float>;
extern template class ColumnPlan<double>;

}  // namespace proa::inline v0::ops::fft

#endif  // PROA_OPS_FFT_COLUMN_PLAN_H_
