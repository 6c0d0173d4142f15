// Fourier transforms of one line of numbers, with Eigen's port of KISS FFT.
//
//   LineTransform<float>& line = LineTransform<float>::OfThread();
//   line.Complex(in, out, n, /*forward=*/true);
//
// Nothing is divided by n. Lengths with a prime factor above kLargestFactor go
// by Bluestein's algorithm, a convolution of a length that is a power of two,
// in double precision: any length costs O(n log n).
#ifndef PROA_OPS_FFT_LINE_TRANSFORM_H_
#define PROA_OPS_FFT_LINE_TRANSFORM_H_

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace proa::inline v0::ops::fft {

inline constexpr int64_t kLargestFactor = 50;
// The library counts with int, and Bluestein's lines are up to four times as
// long.
inline constexpr int64_t kMaxPoints = int64_t{1} << 26;

// The transforms of some lengths; T is float or double. What a length needs is
// kept, up to a limit. Not thread-safe; each thread has its own.
template <typename T>
class LineTransform {
 public:
  using C = std::complex<T>;

  LineTransform();
  ~LineTransform();
  static LineTransform& OfThread();

  // out[k] = sum_j in[j] exp(-+ 2 pi i j k / n), minus if forward. The lines do
  // not overlap; n is in [1, kMaxPoints].
  void Complex(const C* in, C* out, int64_t n, bool forward);
  // The first n / 2 + 1 of these, of real numbers.
  void RealToHalf(const T* in, C* out, int64_t n, bool forward);
  // The n real numbers whose frequencies are `in` and their conjugates.
  // Imaginary parts that must be 0 are taken for it.
  void HalfToReal(const C* in, T* out, int64_t n, bool forward);

  // Numbers kept for all lengths.
  int64_t kept() const { return kept_; }

 private:
  struct Plan;

  // The plan of a length, made if need be.
  Plan& Of(int64_t n, bool forward);
  // exp(-2 pi i k / n) for k up to n / 4, for real lines of even length.
  const std::vector<C>& Turns(int64_t n);
  void MakeRoom(int64_t numbers);

  std::map<std::pair<int64_t, bool>, std::unique_ptr<Plan>> plans_;
  std::map<int64_t, std::vector<C>> turns_;
  std::vector<C> buffer_, result_;
  int64_t kept_ = 0;
};

extern template class LineTransform<float>;
extern template class LineTransform<double>;

}  // namespace proa::inline v0::ops::fft

#endif  // PROA_OPS_FFT_LINE_TRANSFORM_H_
