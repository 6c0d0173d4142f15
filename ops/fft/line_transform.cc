#include "ops/fft/line_transform.h"

#include <cmath>
#include <numbers>
#include <optional>

#include "tensor/error.h"

#define EIGEN_DONT_PARALLELIZE
#include "Eigen/Core"
#include "unsupported/Eigen/FFT"

namespace proa::inline v0::ops::fft {
namespace {

// What all plans of a thread may hold before they are dropped: 64 MiB of
// double.
constexpr int64_t kMostKept = int64_t{1} << 22;

int64_t LargestFactor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

int64_t PowerOfTwo(int64_t at_least) {
  int64_t m = 1;
  while (m < at_least) m *= 2;
  return m;
}

// exp(-2 pi i k / n). Exact quarters, so that the sums of the transform cancel.
std::complex<double> Turn(int64_t k, int64_t n) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

template <typename T>
using Kiss = Eigen::internal::kiss_cpx_fft<T>;

template <typename T>
Kiss<T> MakeKiss(int64_t n, bool forward) {
  Kiss<T> kiss;
  kiss.make_twiddles(static_cast<int>(n), !forward);
  kiss.factorize(static_cast<int>(n));
  return kiss;
}

// X_k = c_k sum_j (x_j c_j) conj(c_{k - j}) with c_k = exp(-i pi k^2 / n): a
// convolution.
class Bluestein {
 public:
  explicit Bluestein(int64_t n)
      : n_(n),
        m_(PowerOfTwo(2 * n - 1)),
        there_(MakeKiss<double>(m_, true)),
        back_(MakeKiss<double>(m_, false)),
        chirp_(n),
        filter_(m_),
        a_(m_),
        b_(m_) {
    // k^2 is reduced before it is divided: its last bits decide.
    for (int64_t k = 0; k < n; ++k) chirp_[k] = Turn(k * k % (2 * n), 2 * n);
    for (int64_t k = 0; k < n; ++k) a_[k] = std::conj(chirp_[k]);
    for (int64_t k = 1; k < n; ++k) a_[m_ - k] = a_[k];
    there_.work(0, filter_.data(), a_.data(), 1, 1);
    for (auto& f : filter_) f /= static_cast<double>(m_);
  }

  int64_t numbers() const { return 5 * m_ + n_; }

  template <typename T>
  void Run(const std::complex<T>* in, std::complex<T>* out, bool forward) {
    using Z = std::complex<double>;
    for (int64_t k = 0; k < n_; ++k) {
      const Z x(in[k]);
      a_[k] = (forward ? x : std::conj(x)) * chirp_[k];
    }
    std::fill(a_.begin() + n_, a_.end(), Z());
    there_.work(0, b_.data(), a_.data(), 1, 1);
    for (int64_t k = 0; k < m_; ++k) b_[k] *= filter_[k];
    back_.work(0, a_.data(), b_.data(), 1, 1);
    for (int64_t k = 0; k < n_; ++k) {
      const Z y = a_[k] * chirp_[k];
      out[k] = std::complex<T>(forward ? y : std::conj(y));
    }
  }

 private:
  int64_t n_, m_;
  Kiss<double> there_, back_;
  std::vector<std::complex<double>> chirp_, filter_, a_, b_;
};

}  // namespace

template <typename T>
struct LineTransform<T>::Plan {
  std::optional<Kiss<T>> kiss;
  std::optional<Bluestein> bluestein;
};

template <typename T>
LineTransform<T>::LineTransform() = default;
template <typename T>
LineTransform<T>::~LineTransform() = default;

template <typename T>
LineTransform<T>& LineTransform<T>::OfThread() {
  static thread_local LineTransform transform;
  return transform;
}

template <typename T>
void LineTransform<T>::MakeRoom(int64_t numbers) {
  if (kept_ + numbers > kMostKept) {
    plans_.clear();
    turns_.clear();
    kept_ = 0;
  }
}

template <typename T>
typename LineTransform<T>::Plan& LineTransform<T>::Of(int64_t n, bool forward) {
  const auto found = plans_.find({n, forward});
  if (found != plans_.end()) return *found->second;
  // Made in full before it is kept: memory may run out on the way.
  auto plan = std::make_unique<Plan>();
  int64_t numbers = n;
  if (LargestFactor(n) > kLargestFactor) {
    numbers = plan->bluestein.emplace(n).numbers();
  } else {
    plan->kiss = MakeKiss<T>(n, forward);
  }
  MakeRoom(numbers);
  Plan& made = *plan;
  plans_[{n, forward}] = std::move(plan);
  kept_ += numbers;
  return made;
}

template <typename T>
const std::vector<std::complex<T>>& LineTransform<T>::Turns(int64_t n) {
  const auto found = turns_.find(n);
  if (found != turns_.end()) return found->second;
  std::vector<C> turns(n / 4 + 1);
  for (int64_t k = 0; k <= n / 4; ++k) turns[k] = C(Turn(k, n));
  MakeRoom(n / 4);
  kept_ += n / 4;
  return turns_[n] = std::move(turns);
}

template <typename T>
void LineTransform<T>::Complex(const C* in, C* out, int64_t n, bool forward) {
  PROA_REQUIRE(n >= 1 && n <= kMaxPoints, "a Fourier transform of ", n,
               " points; at most ", kMaxPoints, " are supported");
  if (n == 1) {
    *out = *in;
    return;
  }
  Plan& plan = Of(n, forward);
  if (plan.bluestein.has_value()) return plan.bluestein->Run(in, out, forward);
  plan.kiss->work(0, out, in, 1, 1);
}

template <typename T>
void LineTransform<T>::RealToHalf(const T* in, C* out, int64_t n,
                                  bool forward) {
  if (n % 2 != 0) {
    buffer_.assign(in, in + n);
    result_.resize(n);
    Complex(buffer_.data(), result_.data(), n, forward);
    std::copy_n(result_.data(), n / 2 + 1, out);
    return;
  }
  // Even and odd elements as the two parts of n / 2 complex numbers; their
  // transforms E and O are taken apart, and X_k = E_k + w^k O_k.
  const int64_t m = n / 2;
  buffer_.resize(m);
  for (int64_t j = 0; j < m; ++j) buffer_[j] = C(in[2 * j], in[2 * j + 1]);
  Complex(buffer_.data(), out, m, forward);
  const std::vector<C>& turns = Turns(n);
  const C first = out[0];
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const C a = out[k], b = std::conj(out[m - k]);
    const C even = (a + b) * T(0.5), d = (a - b) * T(0.5);
    const C odd(d.imag(), -d.real());  // d / i
    const C w = forward ? turns[k] : std::conj(turns[k]);
    const C turned = w * odd;
    out[k] = even + turned;
    out[m - k] = std::conj(even - turned);
  }
  out[0] = C(first.real() + first.imag(), 0);
  out[m] = C(first.real() - first.imag(), 0);
}

template <typename T>
void LineTransform<T>::HalfToReal(const C* in, T* out, int64_t n,
                                  bool forward) {
  if (n % 2 != 0) {
    buffer_.resize(n);
    result_.resize(n);
    buffer_[0] = C(in[0].real(), 0);
    for (int64_t k = 1; k <= n / 2; ++k) {
      buffer_[k] = in[k];
      buffer_[n - k] = std::conj(in[k]);
    }
    Complex(buffer_.data(), result_.data(), n, forward);
    for (int64_t j = 0; j < n; ++j) out[j] = result_[j].real();
    return;
  }
  const int64_t m = n / 2;
  const std::vector<C>& turns = Turns(n);
  buffer_.resize(m);
  result_.resize(m);
  const T first = in[0].real(), last = in[m].real();
  buffer_[0] = C(first + last, first - last);
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const C a = in[k], b = std::conj(in[m - k]);
    const C even = a + b;
    const C w = forward ? turns[k] : std::conj(turns[k]);
    const C odd = (a - b) * w;
    // even + i odd, and for the mirrored one of the conjugates.
    buffer_[k] = C(even.real() - odd.imag(), even.imag() + odd.real());
    buffer_[m - k] = C(even.real() + odd.imag(), odd.real() - even.imag());
  }
  Complex(buffer_.data(), result_.data(), m, forward);
  for (int64_t j = 0; j < m; ++j) {
    out[2 * j] = result_[j].real();
    out[2 * j + 1] = result_[j].imag();
  }
}

template class LineTransform<float>;
template class LineTransform<double>;

}  // namespace proa::inline v0::ops::fft
