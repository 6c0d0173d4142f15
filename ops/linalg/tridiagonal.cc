#include "ops/linalg/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace proa::inline v0::ops::dense {
namespace {

// The eigenvalues of [[a, b], [b, c]], of b^2: the larger one in size by a sum
// without cancellation, the other from the determinant.
template <typename T>
void OfTwo(T* a, T square, T* c) {
  const T sum = *a + *c, difference = *a - *c;
  const T root = std::sqrt(difference * difference + 4 * square);
  if (root == 0) return;
  const T large = (sum + (sum < 0 ? -root : root)) / 2;
  const T rest = *a / large * *c - square / large;
  *a = large;
  *c = rest;
}

// QL iteration without square roots (Pal, Walker and Kahan's), of one block
// [first, last] at a time; `e2` are squares of what is beside the diagonal `d`.
template <typename T>
class Iteration {
 public:
  Iteration(T* d, T* e2, int64_t n) : d_(d), e2_(e2), left_(40 * n) {}

  // False if there were too many steps.
  bool Run(int64_t first, int64_t last) {
    // From the end whose numbers are larger, so that the small ones, which lose
    // most by it, come last.
    if (std::abs(d_[last]) < std::abs(d_[first])) {
      std::reverse(d_ + first, d_ + last + 1);
      std::reverse(e2_ + first, e2_ + last);
    }
    while (first < last) {
      const int64_t end = EndOfBlock(first, last);
      if (end == first) {
        ++first;
      } else if (end == first + 1) {
        OfTwo(&d_[first], e2_[first], &d_[end]);
        first += 2;
      } else {
        if (left_-- == 0) return false;
        Step(first, end);
      }
    }
    return true;
  }

  // Where the block that begins here ends: at a number beside the diagonal that
  // is 0 but for rounding, which becomes 0.
  int64_t EndOfBlock(int64_t first, int64_t last) {
    constexpr T kEpsilon = std::numeric_limits<T>::epsilon() / 2;
    for (int64_t m = first; m < last; ++m) {
      if (e2_[m] <= kEpsilon * kEpsilon * std::abs(d_[m] * d_[m + 1])) {
        e2_[m] = 0;
        return m;
      }
    }
    return last;
  }

 private:
  void Step(int64_t first, int64_t end) {
    const T root = std::sqrt(e2_[first]);
    const T middle = (d_[first + 1] - d_[first]) / (2 * root);
    const T length = std::sqrt(middle * middle + 1);
    const T shift =
        d_[first] - root / (middle + (middle < 0 ? -length : length));
    // Cosines and sines below are squares of those of the rotations.
    T c = 1, s = 0, gamma = d_[end] - shift, p = gamma * gamma;
    for (int64_t i = end - 1; i >= first; --i) {
      const T square = e2_[i], r = p + square;
      if (i != end - 1) e2_[i + 1] = s * r;
      const T before = c, last_gamma = gamma;
      const T inverse = r / p;  // beside the quotient that follows, not after
      c = p / r;
      s = square / r;
      gamma = c * (d_[i] - shift) - s * last_gamma;
      d_[i + 1] = last_gamma + (d_[i] - gamma);
      // gamma^2 / c, or what that is in the limit.
      p = c > kTiny ? gamma * gamma * inverse : before * square;
    }
    e2_[first] = s * p;
    d_[first] = shift + gamma;
  }

  static constexpr T kTiny =
      std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon() *
      std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon();
  T *d_, *e2_;
  int64_t left_;
};

}  // namespace

template <typename T>
bool TridiagonalValues(T* diagonal, T* beside, int64_t n) {
  for (int64_t i = 0; i + 1 < n; ++i) beside[i] *= beside[i];
  Iteration<T> iteration(diagonal, beside, n);
  for (int64_t first = 0; first < n;) {
    const int64_t end = iteration.EndOfBlock(first, n - 1);
    if (!iteration.Run(first, end)) return false;
    first = end + 1;
  }
  std::sort(diagonal, diagonal + n);
  return true;
}

template bool TridiagonalValues(float*, float*, int64_t);
template bool TridiagonalValues(double*, double*, int64_t);

}  // namespace proa::inline v0::ops::dense
