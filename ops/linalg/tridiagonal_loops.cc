// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/linalg/tridiagonal_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Row i of the matrix, from the last, loses what is before the diagonal but for
// one number, by a reflection H = I - t v v^T of the rows and columns before
// it; to what is left of the matrix that is
//   A -= v w^T + w v^T,  w = p - (t / 2) (p . v) v,  p = t A v.
// The matrix is too large to be walked through twice for each row, so the
// update waits for the next reflection: one pass does it and forms the next
// product with v.
//
// Only squares of kLanes^2 up to the diagonal are kept; the ones on it are
// whole.
template <typename T>
class Reduction {
 public:
  Reduction(const T* a, int64_t n, T scale)
      : row_((n + kLanes - 1) / kLanes * kLanes),
        memory_((row_ + 4) * row_),
        a_(memory_.data()),
        v_(a_ + row_ * row_),
        w_(v_ + row_),
        next_(w_ + row_),
        product_(next_ + row_) {
    for (int64_t i = 0; i < n; ++i) {
      T* const to = a_ + i * row_;
      const int64_t whole = i - i % kLanes;
      for (int64_t j = 0; j <= i; ++j) to[j] = a[i * n + j] * scale;
      for (int64_t j = whole; j < i; ++j) a_[j * row_ + i] = to[j];
    }
  }

  void Run(int64_t n, T* diagonal, T* beside) {
    for (int64_t i = n - 1; i > 0; --i) {
      T* const row = a_ + i * row_;
      UpdateRow(i, row);
      diagonal[i] = row[i];
      const T t = Reflection(row, i, &beside[i - 1]);
      Pass(i);
      Follow(i, t);
    }
    UpdateRow(0, a_);
    diagonal[0] = a_[0];
  }

 private:
  using V = VectorOf<T>;
  using Vector = typename V::Type;
  static constexpr int kLanes = V::kLanes;
  // Rows that go through a pass together.
  static constexpr int kGroup = kVectorBytes == 64 ? 4 : 2;

  // The update that waits, of row i up to the diagonal.
  void UpdateRow(int64_t i, T* row) const {
    const Vector v = -v_[i] - Vector{}, w = -w_[i] - Vector{};
    for (int64_t c = 0; c <= i; c += kLanes) {
      const Vector once = V::MultiplyAdd(v, V::Load(w_ + c), V::Load(row + c));
      V::Store(row + c, V::MultiplyAdd(w, V::Load(v_ + c), once));
    }
  }

  // x . y of n numbers, and zeros up to a whole vector.
  static double Dot(const T* x, const T* y, int64_t n) {
    Vector sum = {};
    for (int64_t c = 0; c < n; c += kLanes)
      sum = V::MultiplyAdd(V::Load(x + c), V::Load(y + c), sum);
    double all = 0;
    for (int l = 0; l < kLanes; ++l) all += sum[l];
    return all;
  }

  // next_ = the v that takes the first n numbers of the row to [0, ..., 0,
  // *end]; its last number is 1. Returns t, 0 if nothing is to be done.
  T Reflection(const T* row, int64_t n, T* end) {
    std::copy_n(row, n, next_);
    std::fill(next_ + n, next_ + std::min(n + kLanes, row_), T(0));
    const T pivot = next_[n - 1];
    next_[n - 1] = 0;
    const double squares = Dot(next_, next_, n);
    *end = pivot;
    if (squares < static_cast<double>(std::numeric_limits<T>::min())) {
      std::fill_n(next_, n, T(0));
      return 0;
    }
    double length = std::sqrt(squares + static_cast<double>(pivot) * pivot);
    if (pivot >= 0) length = -length;
    const T factor = static_cast<T>(1 / (pivot - length));
    for (int64_t c = 0; c < n; c += kLanes)
      V::Store(next_ + c, V::Load(next_ + c) * factor);
    next_[n - 1] = 1;
    *end = static_cast<T>(length);
    return static_cast<T>((length - pivot) / length);
  }

  // Lanes whose number has the bit `step` are of `high`, others of `low`; each
  // is the sum of two of it.
  template <int step, int... c>
  static Vector Merge(Vector low, Vector high,
                      std::integer_sequence<int, c...>) {
    return __builtin_shufflevector(
               low, high, ((c & step) != 0 ? kLanes + c - step : c)...) +
           __builtin_shufflevector(
               low, high, ((c & step) != 0 ? kLanes + c : c + step)...);
  }
  // Lane i is the sum of all lanes of rows[i], of `count`.
  template <int count>
  static Vector SumsOf(const Vector* rows) {
    if constexpr (count == 1) {
      return rows[0];
    } else {
      return Merge<count / 2>(SumsOf<count / 2>(rows),
                              SumsOf<count / 2>(rows + count / 2),
                              std::make_integer_sequence<int, kLanes>{});
    }
  }

  // A -= v w^T + w v^T and product_ = A next_, of the first n rows.
  void Pass(int64_t n) {
    const int64_t end = (n + kLanes - 1) / kLanes * kLanes;
    std::fill_n(product_, end, T(0));
    for (int64_t first = 0; first < n; first += kLanes) {
      Vector sums[kLanes] = {};
      // Rows after the n are of no meaning, and have no part in the product.
      const int64_t rows = std::min<int64_t>(kLanes, n - first);
      for (int64_t r = 0; r < rows; r += kGroup)
        PassGroup(first, first + r, sums + r);
      V::Store(product_ + first,
               V::Load(product_ + first) + SumsOf<kLanes>(sums));
    }
  }

  // Rows [r, r + kGroup), up to the square on the diagonal, which begins at
  // column `square`. What they have in common with rows before it counts for
  // both.
  void PassGroup(int64_t square, int64_t r, Vector* sums) {
    Vector v[kGroup], w[kGroup], x[kGroup], sum[kGroup] = {};
#pragma GCC unroll 4
    for (int k = 0; k < kGroup; ++k) {
      v[k] = -v_[r + k] - Vector{};
      w[k] = -w_[r + k] - Vector{};
      x[k] = next_[r + k] - Vector{};
    }
    const T *const all_v = v_, *const all_w = w_, *const all_x = next_;
    T *const all_p = product_, *const a = a_ + r * row_;
    const int64_t row = row_;
    for (int64_t c = 0; c < square; c += kLanes) {
      const Vector vc = V::Load(all_v + c), wc = V::Load(all_w + c),
                   xc = V::Load(all_x + c);
      Vector p = V::Load(all_p + c);
#pragma GCC unroll 4
      for (int k = 0; k < kGroup; ++k) {
        T* const at = a + k * row + c;
        const Vector once = V::MultiplyAdd(v[k], wc, V::Load(at));
        const Vector now = V::MultiplyAdd(w[k], vc, once);
        V::Store(at, now);
        sum[k] = V::MultiplyAdd(now, xc, sum[k]);
        p = V::MultiplyAdd(now, x[k], p);
      }
      V::Store(all_p + c, p);
    }
    const Vector vc = V::Load(all_v + square), wc = V::Load(all_w + square),
                 xc = V::Load(all_x + square);
#pragma GCC unroll 4
    for (int k = 0; k < kGroup; ++k) {
      T* const at = a + k * row + square;
      const Vector once = V::MultiplyAdd(v[k], wc, V::Load(at));
      const Vector now = V::MultiplyAdd(w[k], vc, once);
      V::Store(at, now);
      sums[k] = V::MultiplyAdd(now, xc, sum[k]);
    }
  }

  // v_ and w_ of the reflection next_, of n numbers; zeros behind them.
  void Follow(int64_t n, T t) {
    const T half = static_cast<T>(t * t * Dot(product_, next_, n) / 2);
    const Vector whole = t - Vector{}, part = -half - Vector{};
    for (int64_t c = 0; c < n; c += kLanes)
      V::Store(w_ + c, V::MultiplyAdd(part, V::Load(next_ + c),
                                      whole * V::Load(product_ + c)));
    std::fill(w_ + n, w_ + std::min(n + kLanes, row_), T(0));
    std::swap(v_, next_);
  }

  int64_t row_;
  std::vector<T> memory_;
  T *a_, *v_, *w_, *next_, *product_;
};

template <typename T>
void Reduce(const T* a, int64_t n, T scale, T* diagonal, T* beside) {
  Reduction<T>(a, n, scale).Run(n, diagonal, beside);
}

template <typename T>
T Largest(const T* a, int64_t n) {
  using V = VectorOf<T>;
  using Vector = typename V::Type;
  Vector most = {}, nothing = {};
  T last = 0, rest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T* const row = a + i * n;
    int64_t j = 0;
    for (; j + V::kLanes <= i + 1; j += V::kLanes) {
      const Vector x = V::Load(row + j), size = x < 0 ? -x : x;
      most = size > most ? size : most;
      nothing += x * T(0);
    }
    for (; j <= i; ++j) {
      last = std::max(last, std::abs(row[j]));
      rest += row[j] * T(0);
    }
  }
  for (int l = 0; l < V::kLanes; ++l) {
    last = std::max(last, most[l]);
    rest += nothing[l];
  }
  return rest == 0 ? last : std::numeric_limits<T>::quiet_NaN();
}

template <typename T>
constexpr TridiagonalLoops<T> kLoops = {Largest<T>, Reduce<T>};

}  // namespace

const TridiagonalLoops<float>& FloatTridiagonal() { return kLoops<float>; }
const TridiagonalLoops<double>& DoubleTridiagonal() { return kLoops<double>; }

}  // namespace proa::inline v0::ops::PROA_ISA
