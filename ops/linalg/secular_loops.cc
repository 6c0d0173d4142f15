// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/linalg/secular_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// 1 / rho + sum of z[j]^2 / (pole[j] - t), and a root of it. Poles are counted
// from one of the two that the root lies between, so that t, and what is
// between it and each pole, keep all digits.
template <typename T>
class Secular {
 public:
  // `pole` [n] is filled by Find.
  Secular(int64_t n, const T* z, T rho, T* pole)
      : n_(n), whole_(n - n % kLanes), inverse_(1 / rho), z_(z), pole_(pole) {
    for (int l = 0; l < kLanes; ++l) {
      const bool inside = whole_ + l < n;
      last_z_[l] = inside ? z[whole_ + l] : T(0);
    }
  }

  // Root i, by the pole from which it is counted. fill(k) writes poles as they
  // are counted from k. False if there is no number.
  template <typename Fill>
  bool Find(int64_t i, T rho, Fill fill, int64_t* origin, T* root) {
    const bool last = i == n_ - 1;
    // The root is seen between these poles, or behind them.
    const int64_t left = last ? n_ - 2 : i;
    fill(*origin = i);
    Begin(left);
    T low = 0, high, gap;
    if (last) {
      T squares = 0;
      for (int64_t j = 0; j < n_; ++j) squares += z_[j] * z_[j];
      // Rounding must not put the root beyond it.
      high = rho * squares * (1 + 8 * std::numeric_limits<T>::epsilon());
      gap = -pole_[left];
    } else {
      high = gap = pole_[i + 1];
    }
    T t = high / 2;
    const Sums middle = Evaluate(t);
    const T value = middle.Value(inverse_);
    // But for the two terms, of which the first guess is made.
    const T squares[2] = {z_[left] * z_[left], z_[left + 1] * z_[left + 1]};
    const T rest = value - squares[0] / (pole_[left] - t) -
                   squares[1] / (pole_[left + 1] - t);
    (value < 0 ? low : high) = t;
    if (!last && value < 0) {
      fill(*origin = i + 1);
      Begin(left);
      gap = -pole_[left];
      low = -gap / 2;
      high = 0;
    }
    const bool from_left = *origin == left;
    t = Root(rest, squares[0] + squares[1] + (from_left ? gap : -gap) * rest,
             from_left ? squares[0] * gap : -squares[1] * gap, last);
    return Improve(left, last, low, high, t, root);
  }

 private:
  using V = VectorOf<T>;
  using Vector = typename V::Type;
  static constexpr int kLanes = V::kLanes;
  static constexpr T kEpsilon = std::numeric_limits<T>::epsilon() / 2;

  // Of the terms up to the left pole (psi, all negative) and behind it (phi),
  // and of their slopes.
  struct Sums {
    T psi, phi, psi_slope, phi_slope;
    T Value(T inverse) const { return inverse + (psi + phi); }
    T Slope() const { return psi_slope + phi_slope; }
  };

  // Takes over the last poles, which may not fill a vector, and where the terms
  // are parted.
  void Begin(int64_t left) {
    split_ = left + 1;
    for (int l = 0; l < kLanes; ++l) {
      const bool inside = whole_ + l < n_;
      last_pole_[l] =
          inside ? pole_[whole_ + l] : std::numeric_limits<T>::max() / 4;
      first_[l] = l < split_ % kLanes ? T(1) : T(0);
    }
  }

  Sums Evaluate(T t) const {
    const Vector at = t - Vector{};
    Vector psi = {}, phi = {}, psi_slope = {}, phi_slope = {};
    const auto add = [&](int64_t c, Vector* value, Vector* slope) {
      const bool inside = c < whole_;
      const Vector z = inside ? V::Load(z_ + c) : last_z_;
      const Vector pole = inside ? V::Load(pole_ + c) : last_pole_;
      const Vector quotient = z / (pole - at);
      *value = V::MultiplyAdd(z, quotient, *value);
      *slope = V::MultiplyAdd(quotient, quotient, *slope);
    };
    int64_t c = 0;
    for (; c + kLanes <= split_; c += kLanes) add(c, &psi, &psi_slope);
    if (c < split_) {
      Vector value = {}, slope = {};
      add(c, &value, &slope);
      psi += value * first_;
      psi_slope += slope * first_;
      phi = value * (T(1) - first_);
      phi_slope = slope * (T(1) - first_);
      c += kLanes;
    }
    for (; c < n_; c += kLanes) add(c, &phi, &phi_slope);
    return {SumOf(psi), SumOf(phi), SumOf(psi_slope), SumOf(phi_slope)};
  }

  static T SumOf(const Vector& v) {
    T lane[kLanes];
    V::Store(lane, v);
    for (int w = kLanes / 2; w > 0; w /= 2)
      for (int l = 0; l < w; ++l) lane[l] += lane[l + w];
    return lane[0];
  }

  // The root of c x^2 - a x + b that is between two poles, or `behind` them,
  // without cancellation.
  static T Root(T c, T a, T b, bool behind) {
    const T square = a * a - 4 * b * c;
    const T length = std::sqrt(square > 0 ? square : T(0));
    if (behind) return a >= 0 ? (a + length) / (2 * c) : 2 * b / (a - length);
    return a <= 0 ? (a - length) / (2 * c) : 2 * b / (a + length);
  }

  // Steps to where c + a / (pole - t) + b / (next pole - t) is 0, of which each
  // half has the value and the slope of its terms; the root stays between `low`
  // and `high`.
  bool Improve(int64_t left, bool behind, T low, T high, T t, T* root) const {
    constexpr int kMost = 100;
    T before = std::numeric_limits<T>::infinity();
    for (int step = 0; step < kMost; ++step) {
      if (!(t > low && t < high)) t = low + (high - low) / 2;
      const Sums sums = Evaluate(t);
      const T value = sums.Value(inverse_);
      if (std::isnan(value)) return false;
      const T error =
          8 * (sums.phi - sums.psi) + inverse_ + std::abs(t) * sums.Slope();
      *root = t;
      if (std::abs(value) <= kEpsilon * error) return true;
      (value < 0 ? low : high) = t;
      if (high - low <= kEpsilon * std::max(std::abs(low), std::abs(high)))
        return true;
      const T first = pole_[left] - t, second = pole_[left + 1] - t;
      T by = Root(value - first * sums.psi_slope - second * sums.phi_slope,
                  (first + second) * value - first * second * sums.Slope(),
                  first * second * value, behind);
      // It rises, so that is the wrong way.
      if (!(value * by < 0)) by = -value / sums.Slope();
      // By halves where steps come to little.
      const bool slow = std::abs(value) > before / 2;
      before = std::abs(value);
      const T next = slow ? low + (high - low) / 2 : t + by;
      if (next == t) return true;
      t = next;
    }
    return true;
  }

  int64_t n_, whole_, split_ = 0;
  T inverse_;
  const T* z_;
  T* pole_;
  Vector last_z_, last_pole_, first_;
};

template <typename T>
bool Eigenvalue(int64_t n, int64_t i, const T* d, const T* z, T rho,
                T* difference, T* x) {
  if (n == 1) {
    *x = d[0] + rho * z[0] * z[0];
    difference[0] = -rho * z[0] * z[0];
    return !std::isnan(*x);
  }
  int64_t origin;
  T t;
  const auto fill = [&](int64_t k) {
    for (int64_t j = 0; j < n; ++j) difference[j] = d[j] - d[k];
  };
  Secular<T> equation(n, z, rho, difference);
  if (!equation.Find(i, rho, fill, &origin, &t)) return false;
  for (int64_t j = 0; j < n; ++j) difference[j] -= t;
  *x = d[origin] + t;
  return true;
}

template <typename T>
bool Singular(int64_t n, int64_t i, const T* d, const T* z, T rho,
              T* difference, T* sum, T* x) {
  int64_t origin = 0;
  T t = rho * z[0] * z[0];
  if (n > 1) {
    const auto fill = [&](int64_t k) {
      for (int64_t j = 0; j < n; ++j) sum[j] = (d[j] - d[k]) * (d[j] + d[k]);
    };
    Secular<T> equation(n, z, rho, sum);
    if (!equation.Find(i, rho, fill, &origin, &t)) return false;
  }
  // From the difference of squares to that of the numbers.
  const T from = d[origin];
  if (t != 0) t /= from + std::sqrt(from * from + t);
  for (int64_t j = 0; j < n; ++j) {
    difference[j] = (d[j] - from) - t;
    sum[j] = d[j] + from + t;
  }
  *x = from + t;
  return !std::isnan(*x);
}

template <bool squares, typename T>
void RefineBy(int64_t n, const T* d, const T* differences, int64_t step,
              const T* sums, int64_t sums_step, T* z) {
  std::vector<T> numbers(n, T(-1));
  T* const product = numbers.data();
  for (int64_t j = 0; j < n; ++j) {
    const T *const column = differences + j * step, *const sum =
                                                        sums + j * sums_step;
    const T from = d[j];
    const auto take = [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        product[i] *= squares
                          ? column[i] * sum[i] / ((d[i] - from) * (d[i] + from))
                          : column[i] / (d[i] - from);
      }
    };
    take(0, j);
    product[j] *= squares ? column[j] * sum[j] : column[j];
    take(j + 1, n);
  }
  for (int64_t i = 0; i < n; ++i)
    z[i] = std::copysign(std::sqrt(product[i]), z[i]);
}

template <typename T>
void Refine(int64_t n, const T* d, const T* differences, int64_t step,
            const T* sums, int64_t sums_step, T* z) {
  if (sums == nullptr) {
    RefineBy<false>(n, d, differences, step, differences, step, z);
  } else {
    RefineBy<true>(n, d, differences, step, sums, sums_step, z);
  }
}

template <typename T>
void Vectors(int64_t n, const T* z, const int32_t* order, T* differences,
             int64_t step) {
  constexpr int kSums = 2 * VectorOf<T>::kLanes;
  std::vector<T> numbers(n);
  T* const x = numbers.data();
  for (int64_t j = 0; j < n; ++j) {
    T* const column = differences + j * step;
    T squares[kSums] = {};
    int64_t i = 0;
    for (; i + kSums <= n; i += kSums) {
      for (int l = 0; l < kSums; ++l) {
        const T v = z[i + l] / column[i + l];
        x[i + l] = v;
        squares[l] += v * v;
      }
    }
    double all = 0;
    for (; i < n; ++i) {
      x[i] = z[i] / column[i];
      all += static_cast<double>(x[i]) * x[i];
    }
    for (int l = 0; l < kSums; ++l) all += squares[l];
    const T factor = static_cast<T>(1 / std::sqrt(all));
    for (i = 0; i < n; ++i) column[i] = x[order[i] - 1] * factor;
  }
}

template <typename T>
void SingularVectors(int64_t n, const T* d, const T* z, T* differences,
                     int64_t step, T* sums, int64_t sums_step) {
  constexpr int kSums = 2 * VectorOf<T>::kLanes;
  for (int64_t j = 0; j < n; ++j) {
    T *const left = differences + j * step, *const right = sums + j * sums_step;
    T lefts[kSums] = {}, rights[kSums] = {};
    const auto take = [&](int64_t i, int l) {
      const T v = z[i] / left[i] / right[i], u = d[i] * v;
      right[i] = v;
      left[i] = u;
      rights[l] += v * v;
      lefts[l] += u * u;
    };
    int64_t i = 0;
    for (; i + kSums <= n; i += kSums) {
#pragma GCC ivdep
      for (int l = 0; l < kSums; ++l) take(i + l, l);
    }
    for (int l = 0; i < n; ++i, ++l) take(i, l);
    left[0] = -1;
    double left_squares = 1, right_squares = 0;
    for (int l = 0; l < kSums; ++l) {
      left_squares += lefts[l];
      right_squares += rights[l];
    }
    const T to_left = static_cast<T>(1 / std::sqrt(left_squares)),
            to_right = static_cast<T>(1 / std::sqrt(right_squares));
#pragma GCC ivdep
    for (i = 0; i < n; ++i) {
      left[i] *= to_left;
      right[i] *= to_right;
    }
  }
}

template <typename T>
constexpr SecularLoops<T> kLoops = {Eigenvalue<T>, Singular<T>, Refine<T>,
                                    Vectors<T>, SingularVectors<T>};

}  // namespace

const SecularLoops<float>& FloatSecular() { return kLoops<float>; }
const SecularLoops<double>& DoubleSecular() { return kLoops<double>; }

}  // namespace proa::inline v0::ops::PROA_ISA
