// How a Fourier transform of some length is done on rows (column_loops.h): its
// radices and the turns between them.
//
//   ColumnPlan<float> plan(360);
//   const float* result = plan.Run(rows, row, a, b, work);
//
// Immutable once made; cheap to run, dear to make.
#ifndef PROA_OPS_FFT_COLUMN_PLAN_H_
#define PROA_OPS_FFT_COLUMN_PLAN_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "ops/fft/column_loops.h"

namespace proa::inline v0::ops::fft {

// Lengths with a larger prime factor have no plan.
inline constexpr int64_t kLargestPrime = 199;

// exp(-2 pi i k / n), exact in each last bit but one.
std::complex<double> TurnOf(int64_t k, int64_t n);

// The largest prime factor of n >= 1, or 1.
int64_t LargestFactor(int64_t n);

// What a transform of n points costs for each of them, in cycles of a row;
// `radices` are then those of the cheapest way.
double CostOf(int64_t n, std::vector<int64_t>* radices);

template <typename T>
class ColumnPlan {
 public:
  // LargestFactor(n) <= kLargestPrime.
  explicit ColumnPlan(int64_t n);

  // Transforms n rows, `row` numbers apart. The result is in a or b, which have
  // n rows each; `in` may be a. `work` holds WorkRows() rows.
  T* Run(const T* in, int64_t row, T* a, T* b, T* work) const;

  int64_t points() const { return n_; }
  int64_t work_rows() const { return work_rows_; }
  // Numbers kept.
  int64_t numbers() const { return static_cast<int64_t>(numbers_.size()); }

 private:
  int64_t n_, work_rows_ = 0;
  std::vector<ColumnPass<T>> passes_;
  std::vector<T> numbers_;  // of all passes
};

extern template class ColumnPlan<float>;
extern template class ColumnPlan<double>;

}  // namespace proa::inline v0::ops::fft

#endif  // PROA_OPS_FFT_COLUMN_PLAN_H_
