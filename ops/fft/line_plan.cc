#include "ops/fft/line_plan.h"

#include <algorithm>
#include <limits>
#include <new>

namespace proa::inline v0::ops::fft {
namespace {

constexpr std::align_val_t kAlignment{64};

// Lines whose turns are kept in full.
constexpr int64_t kFullTurns = 1 << 13;

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Cycles of transforms of n points of all rows of `blocks` vectors. Rows that
// do not fit into the first cache twice take longer.
template <typename T>
double CostOfColumns(int64_t n, int64_t columns) {
  const int64_t lanes = FindFftLoops<T>().lanes;
  const auto rows = static_cast<double>(RoundUp(columns, lanes) / lanes * n);
  const bool fits = n * lanes * 4 * static_cast<int64_t>(sizeof(T)) <= 40960;
  return rows * (CostOf(n, nullptr) * (fits ? 1 : 1.8) + 4);
}

// The smallest product of 2, 3, 5 and 7 that is at least n and costs least.
int64_t GoodLength(int64_t n) {
  int64_t best = 0;
  double least = std::numeric_limits<double>::max();
  for (int64_t two = 1; two < 2 * n; two *= 2) {
    for (int64_t three = two; three < 2 * n; three *= 3) {
      for (int64_t five = three; five < 2 * n; five *= 5) {
        for (int64_t m = five; m < 2 * n; m *= 7) {
          if (m < n || m > n + n / 3) continue;
          const Split split = BestSplit<double>(m);
          if (split.p != 0 && split.cost < least) {
            best = m;
            least = split.cost;
          }
        }
      }
    }
  }
  return best;
}

template <typename T>
void AppendTurn(std::complex<double> turn, std::vector<T>& to) {
  to.push_back(static_cast<T>(turn.real()));
  to.push_back(static_cast<T>(turn.imag()));
}

}  // namespace

template <typename T>
void Scratch<T>::Free::operator()(T* p) const {
  ::operator delete(p, kAlignment);
}

template <typename T>
T* Scratch<T>::Get(int64_t numbers) {
  if (numbers > size_) {
    data_.reset();
    size_ = 0;
    data_.reset(
        static_cast<T*>(::operator new(numbers * sizeof(T), kAlignment)));
    size_ = numbers;
  }
  return data_.get();
}

template <typename T>
Split BestSplit(int64_t n) {
  Split best{0, 0, std::numeric_limits<double>::max()};
  if (LargestFactor(n) > kLargestPrime) return best;
  for (int64_t p = 2; p * p <= n * 16 && p < n; ++p) {
    if (n % p != 0 || p * 16 < n / p) continue;
    const int64_t q = n / p;
    const double cost = CostOfColumns<T>(p, q) + CostOfColumns<T>(q, p) +
                        static_cast<double>(n) * 9 /
                            static_cast<double>(FindFftLoops<T>().lanes);
    if (cost < best.cost) best = {p, q, cost};
  }
  return best;
}

template Split BestSplit<float>(int64_t);
template Split BestSplit<double>(int64_t);

template <typename T>
TwoStep<T>::TwoStep(int64_t p, int64_t q)
    : p_(p), q_(q), first_(p), second_(q) {
  const int64_t n = p * q, lanes = FindFftLoops<T>().lanes;
  p_blocks_ = RoundUp(p, lanes) / lanes;
  q_blocks_ = RoundUp(q, lanes) / lanes;
  const bool full = n <= kFullTurns;
  for (int64_t b = 0; b < (full ? q_blocks_ : 1); ++b) {
    for (int64_t k = 0; k < p; ++k) {
      for (const bool real : {true, false}) {
        for (int64_t l = 0; l < lanes; ++l) {
          const auto turn = TurnOf(k * (b * lanes + l), n);
          fine_.push_back(static_cast<T>(real ? turn.real() : turn.imag()));
        }
      }
    }
  }
  if (full) return;
  for (int64_t b = 0; b < q_blocks_; ++b) {
    for (int64_t k = 0; k < p; ++k)
      AppendTurn(TurnOf(k * b * lanes, n), coarse_);
  }
}

template <typename T>
int64_t TwoStep<T>::numbers() const {
  return first_.numbers() + second_.numbers() +
         static_cast<int64_t>(fine_.size() + coarse_.size());
}

template <typename T>
void TwoStep<T>::Run(const std::complex<T>* in, std::complex<T>* out,
                     bool forward, T factor, Scratch<T>& scratch) const {
  const FftLoops<T>& loops = FindFftLoops<T>();
  const int64_t lanes = loops.lanes, row = 2 * lanes;
  const int64_t rows = std::max(p_, q_) * row;
  const int64_t work_rows =
      std::max(first_.work_rows(), second_.work_rows()) * row;
  // Lines of the transpose do not start in the same set of the cache.
  const int64_t middle_row = p_blocks_ * row + (p_blocks_ % 8 == 0 ? row : 0);
  T* const a =
      scratch.Get(2 * rows + work_rows + q_blocks_ * lanes * middle_row);
  T *const b = a + rows, *const work = b + rows,
           *const middle = work + work_rows;
  const T* const from = reinterpret_cast<const T*>(in);
  for (int64_t j = 0; j < q_blocks_; ++j) {
    loops.load_columns(from + j * row, 2 * q_, p_,
                       std::min(lanes, q_ - j * lanes), !forward, a);
    const T* const done = first_.Run(a, row, a, b, work);
    const bool full = coarse_.empty();
    loops.turn_and_transpose(done, p_, fine_.data() + (full ? j * p_ * row : 0),
                             full ? nullptr : coarse_.data() + j * p_ * 2,
                             middle + j * lanes * middle_row, middle_row);
  }
  T* const to = reinterpret_cast<T*>(out);
  for (int64_t k = 0; k < p_blocks_; ++k) {
    const T* const done = second_.Run(middle + k * row, middle_row, a, b, work);
    loops.store_columns(done, q_, std::min(lanes, p_ - k * lanes), !forward,
                        factor, to + k * row, 2 * p_);
  }
}

Bluestein::Bluestein(int64_t n)
    : n_(n),
      m_(GoodLength(2 * n - 1)),
      convolution_([&] {
        const Split split = BestSplit<double>(m_);
        return TwoStep<double>(split.p, split.q);
      }()),
      chirp_(n),
      filter_(m_) {
  // k^2 is reduced before it is divided: its last bits decide.
  for (int64_t k = 0; k < n; ++k) chirp_[k] = TurnOf(k * k % (2 * n), 2 * n);
  for (int64_t k = 0; k < n; ++k) filter_[k] = std::conj(chirp_[k]);
  for (int64_t k = 1; k < n; ++k) filter_[m_ - k] = filter_[k];
  Scratch<double> scratch;
  convolution_.Run(filter_.data(), filter_.data(), true,
                   1 / static_cast<double>(m_), scratch);
}

int64_t Bluestein::numbers() const {
  return convolution_.numbers() + 2 * (n_ + m_);
}

double Bluestein::Cost(int64_t n) {
  return 2 * BestSplit<double>(GoodLength(2 * n - 1)).cost +
         8 * static_cast<double>(n);
}

// X_k = c_k sum_j (x_j c_j) conj(c_{k - j}) with c_k = exp(-i pi k^2 / n): a
// convolution.
template <typename T>
void Bluestein::Run(const std::complex<T>* in, std::complex<T>* out,
                    bool forward, T factor, Scratch<double>& scratch) const {
  using Z = std::complex<double>;
  const FftLoops<double>& loops = FindFftLoops<double>();
  std::vector<Z> buffer(m_);
  const auto numbers = [](Z* z) { return reinterpret_cast<double*>(z); };
  Z* const a = buffer.data();
  for (int64_t k = 0; k < n_; ++k) {
    const double re = in[k].real(), im = in[k].imag();
    a[k] = forward ? Z(re, im) : Z(im, re);
  }
  loops.multiply(numbers(a), reinterpret_cast<const double*>(chirp_.data()), n_,
                 numbers(a));
  convolution_.Run(a, a, true, 1.0, scratch);
  loops.multiply(numbers(a), reinterpret_cast<const double*>(filter_.data()),
                 m_, numbers(a));
  convolution_.Run(a, a, false, static_cast<double>(factor), scratch);
  loops.multiply(numbers(a), reinterpret_cast<const double*>(chirp_.data()), n_,
                 numbers(a));
  for (int64_t k = 0; k < n_; ++k) {
    const auto re = static_cast<T>(a[k].real()),
               im = static_cast<T>(a[k].imag());
    out[k] = forward ? std::complex<T>(re, im) : std::complex<T>(im, re);
  }
}

template void Bluestein::Run(const std::complex<float>*, std::complex<float>*,
                             bool, float, Scratch<double>&) const;
template void Bluestein::Run(const std::complex<double>*, std::complex<double>*,
                             bool, double, Scratch<double>&) const;

template class Scratch<float>;
template class Scratch<double>;
template class TwoStep<float>;
template class TwoStep<double>;

}  // namespace proa::inline v0::ops::fft
