// Fourier transforms of a prime number p of points on rows (column_loops.h), by
// a convolution of p - 1: the powers of a generator of the numbers modulo p put
// all points but 0 in an order in which the transform is one (Rader, 1968).
#ifndef PROA_OPS_FFT_RADER_H_
#define PROA_OPS_FFT_RADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/fft/column_loops.h"

namespace proa::inline v0::ops::fft {

template <typename T>
class ColumnPlan;

template <typename T>
class Rader {
 public:
  // A prime p whose p - 1 has a ColumnPlan.
  explicit Rader(int64_t p);
  ~Rader();
  Rader(Rader&&) noexcept;

  // A pass (FftLoops::pass), whose radix is p. `work` has work_rows() rows.
  void Run(const ColumnPass<T>& pass, const PassSource<T>& in,
           const PassSink<T>& out, T* work) const;

  int64_t work_rows() const;
  int64_t numbers() const;

 private:
  int64_t p_;
  std::unique_ptr<ColumnPlan<T>> plan_;
  std::vector<int32_t> powers_;
  std::vector<T> filter_;
};

extern template class Rader<float>;
extern template class Rader<double>;

}  // namespace proa::inline v0::ops::fft

#endif  // PROA_OPS_FFT_RADER_H_
