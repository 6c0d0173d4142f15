#include "ops/fft/line_plan.h"

#include <algorithm>
#include <limits>
#include <new>

namespace proa::inline v0::ops::fft {
namespace {

constexpr std::align_val_t kAlignment{64};

// Lines whose turns are kept in full.
constexpr int64_t kFullTurns = 1 << 13;

// Of long lines: blocks of columns that are read or written together, so many
// rows at a time, since rows are far apart.
constexpr int64_t kBlocks = 4, kTogether = 16;

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Vectors of `columns` lanes.
int64_t Blocks(int64_t columns, int64_t lanes) {
  return RoundUp(columns, lanes) / lanes;
}

// Cycles of one step of a split: transforms of n points of all columns. `ends`:
// of what is done with each row besides.
template <typename T>
double CostOfStep(int64_t n, int64_t columns, double ends) {
  const int64_t lanes = FindFftLoops<T>().lanes;
  const int64_t row_bytes = 2 * lanes * static_cast<int64_t>(sizeof(T));
  const auto blocks = static_cast<double>(Blocks(columns, lanes));
  const double partial = columns % lanes != 0 ? 6.0 / blocks : 0;
  const double cost =
      blocks * (static_cast<double>(n) *
                    (CostOf(n, row_bytes, nullptr) + ends + partial) +
                60);
  return 2 * columns == lanes ? cost / 2 : cost;  // two lines share vectors
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
void Scratch<T>::Trim(int64_t bytes) {
  if (size_ * static_cast<int64_t>(sizeof(T)) <= bytes) return;
  data_.reset();
  size_ = 0;
}

template <typename T>
Split BestSplit(int64_t n) {
  Split best{0, 0, std::numeric_limits<double>::max()};
  if (!HasColumnPlan(n)) return best;
  for (int64_t p = 2; p * p <= n * 16 && p < n; ++p) {
    if (n % p != 0 || p * 16 < n / p) continue;
    const int64_t q = n / p;
    const int64_t lanes = FindFftLoops<T>().lanes;
    const double cost =
        CostOfStep<T>(p, q, 5) + CostOfStep<T>(q, p, 3) +
        6.5 * static_cast<double>(Blocks(p, lanes) * Blocks(q, lanes) * lanes);
    if (cost < best.cost) best = {p, q, cost};
  }
  return best;
}

template Split BestSplit<float>(int64_t);
template Split BestSplit<double>(int64_t);

template <typename T>
TwoStep<T>::TwoStep(int64_t p, int64_t q)
    : p_(p),
      q_(q),
      lanes_(FindFftLoops<T>().lanes),
      p_blocks_(RoundUp(p, lanes_) / lanes_),
      q_blocks_(RoundUp(q, lanes_) / lanes_),
      q_rows_(q_blocks_ * lanes_),
      first_pairs_(2 * q == lanes_ && q * sizeof(T) >= 16),
      second_pairs_(2 * p == lanes_),
      first_(p),
      second_(q) {
  const int64_t n = p * q;
  const bool full = n <= kFullTurns;
  for (int64_t b = 0; b < (full ? q_blocks_ : 1); ++b) {
    for (int64_t k = 0; k < p; ++k) {
      for (const bool real : {true, false}) {
        for (int64_t l = 0; l < lanes_; ++l) {
          const int64_t j = first_pairs_ ? l % q : b * lanes_ + l;
          const auto turn = TurnOf(k * j, n);
          fine_.push_back(static_cast<T>(real ? turn.real() : turn.imag()));
        }
      }
    }
  }
  if (full) return;
  for (int64_t b = 0; b < q_blocks_; ++b) {
    for (int64_t k = 0; k < p; ++k)
      AppendTurn(TurnOf(k * b * lanes_, n), coarse_);
  }
}

template <typename T>
int64_t TwoStep<T>::numbers() const {
  return first_.numbers() + second_.numbers() +
         static_cast<int64_t>(fine_.size() + coarse_.size());
}

template <typename T>
void TwoStep<T>::Load(const C* in, bool forward, int64_t block, int64_t blocks,
                      T* to) const {
  const FftLoops<T>& loops = FindFftLoops<T>();
  const int64_t row = 2 * lanes_;
  const T* const from = reinterpret_cast<const T*>(in) + block * row;
  for (int64_t k = 0; k < p_; k += kTogether) {
    for (int64_t b = 0; b < blocks; ++b) {
      loops.load_columns(from + b * row + k * 2 * q_, 2 * q_,
                         std::min(kTogether, p_ - k),
                         std::min(lanes_, q_ - (block + b) * lanes_), !forward,
                         to + (b * p_ + k) * row);
    }
  }
}

template <typename T>
void TwoStep<T>::Store(const T* from, bool forward, T factor, int64_t block,
                       int64_t blocks, C* out) const {
  const FftLoops<T>& loops = FindFftLoops<T>();
  const int64_t row = 2 * lanes_;
  T* const to = reinterpret_cast<T*>(out) + block * row;
  for (int64_t k = 0; k < q_; k += kTogether) {
    for (int64_t b = 0; b < blocks; ++b) {
      loops.store_columns(from + (b * q_ + k) * row,
                          std::min(kTogether, q_ - k),
                          std::min(lanes_, p_ - (block + b) * lanes_), !forward,
                          factor, to + b * row + k * 2 * p_, 2 * p_);
    }
  }
}

template <typename T>
void TwoStep<T>::First(const PassSource<T>& source, const Room& room,
                       int64_t block, T* turned) const {
  const bool full = coarse_.empty();
  const int64_t row = 2 * lanes_;
  const PassSink<T> sink{
      .to = turned,
      .row = row,
      .turns = fine_.data() + (full ? block * p_ * row : 0),
      .more = full ? nullptr : coarse_.data() + block * p_ * 2};
  first_.Run(source, sink, room.a, room.b, room.work);
}

template <typename T>
void TwoStep<T>::FirstOfLines(const C* in, const C* other, bool forward,
                              const Room& room, int64_t block,
                              T* turned) const {
  const int64_t row = 2 * lanes_;
  const T* const from = reinterpret_cast<const T*>(in) + block * row;
  PassSource<T> source{from, 2 * q_, lanes_, !forward};
  if (first_pairs_ && other != nullptr) {
    source.half = reinterpret_cast<const T*>(other) - from;
  } else if (q_ - block * lanes_ < lanes_) {
    Load(in, forward, block, 1, room.a);
    source = {room.a, row};
  }
  First(source, room, block, turned);
}

template <typename T>
void TwoStep<T>::Transpose(const T* turned, const T* other, int64_t block,
                           const Room& room) const {
  const FftLoops<T>& loops = FindFftLoops<T>();
  const int64_t row = 2 * lanes_;
  const T* const zero = room.middle - row;
  const T* starts[16];
  if (second_pairs_) {
    for (int64_t l = 0; l < lanes_; ++l)
      starts[l] = (l < p_ ? turned : other) + l % p_ * row;
    loops.transpose(starts, first_pairs_ ? q_ : lanes_,
                    room.middle + block * lanes_ * row, row);
    return;
  }
  for (int64_t line = 0; line < (first_pairs_ ? 2 : 1); ++line) {
    for (int64_t k = 0; k < p_blocks_; ++k) {
      for (int64_t l = 0; l < lanes_; ++l) {
        const int64_t j = k * lanes_ + l;
        starts[l] = j < p_ ? turned + j * row + line * q_ : zero;
      }
      T* const to = room.middle +
                    ((line * p_blocks_ + k) * q_rows_ + block * lanes_) * row;
      loops.transpose(starts, first_pairs_ ? q_ : lanes_, to, row);
    }
  }
}

template <typename T>
void TwoStep<T>::Second(C* out, C* other, bool forward, T factor,
                        const Room& room) const {
  const int64_t row = 2 * lanes_;
  T* const to = reinterpret_cast<T*>(out);
  for (int64_t k = 0; k < p_blocks_; ++k) {
    const PassSource<T> source{room.middle + k * q_rows_ * row, row};
    PassSink<T> sink{to + k * row, 2 * p_, lanes_, !forward, factor};
    if (second_pairs_ && other != nullptr) {
      sink.half = reinterpret_cast<T*>(other) - to;
    } else if (p_ - k * lanes_ < lanes_) {
      T* const rows = room.turned;
      second_.Run(source, {.to = rows, .row = row}, room.a, room.b, room.work);
      Store(rows, forward, factor, k, 1, out);
      continue;
    }
    second_.Run(source, sink, room.a, room.b, room.work);
  }
}

template <typename T>
void TwoStep<T>::RunLong(const C* in, C* out, bool forward, T factor,
                         const Room& room) const {
  const int64_t row = 2 * lanes_;
  for (int64_t j = 0; j < q_blocks_; j += kBlocks) {
    const int64_t blocks = std::min(kBlocks, q_blocks_ - j);
    Load(in, forward, j, blocks, room.group);
    for (int64_t b = 0; b < blocks; ++b) {
      First({room.group + b * p_ * row, row}, room, j + b, room.turned);
      Transpose(room.turned, nullptr, j + b, room);
    }
  }
  for (int64_t k = 0; k < p_blocks_; k += kBlocks) {
    const int64_t blocks = std::min(kBlocks, p_blocks_ - k);
    for (int64_t b = 0; b < blocks; ++b) {
      second_.Run({room.middle + (k + b) * q_rows_ * row, row},
                  {room.group + b * q_ * row, row}, room.a, room.b, room.work);
    }
    Store(room.group, forward, factor, k, blocks, out);
  }
}

template <typename T>
void TwoStep<T>::Run(const C* const* in, C* const* out, int64_t count,
                     bool forward, T factor, Scratch<T>& scratch) const {
  const int64_t row = 2 * lanes_;
  const int64_t rows = std::max(p_, q_) * row;
  const int64_t work = std::max(first_.work_rows(), second_.work_rows()) * row;
  const bool is_long = !coarse_.empty();
  // Of two lines, if they share vectors in one step only.
  const int64_t lines = first_pairs_ && !second_pairs_ ? 2 : 1;
  Room room;
  room.a = scratch.Get((4 + (is_long ? kBlocks : 0)) * rows + work + row +
                       lines * p_blocks_ * q_rows_ * row);
  room.b = room.a + rows;
  room.turned = room.b + rows;  // 2 * p rows, or q
  room.group = room.turned + 2 * rows;
  room.work = room.group + (is_long ? kBlocks : 0) * rows;
  T* const zero = room.work + work;
  std::fill_n(zero, row, T(0));
  room.middle = zero + row;
  const bool pairs = first_pairs_ || second_pairs_;
  for (int64_t l = 0; l < count; l += pairs ? 2 : 1) {
    if (is_long && !pairs) {
      RunLong(in[l], out[l], forward, factor, room);
      continue;
    }
    const bool two = pairs && l + 1 < count;
    const C* const next = two ? in[l + 1] : nullptr;
    T* const other = room.turned + (first_pairs_ ? q_ : rows);
    for (int64_t j = 0; j < q_blocks_; ++j) {
      FirstOfLines(in[l], next, forward, room, j, room.turned);
      if (two && !first_pairs_)
        FirstOfLines(next, nullptr, forward, room, j, other);
      Transpose(room.turned, two || first_pairs_ ? other : room.turned, j,
                room);
    }
    Second(out[l], two ? out[l + 1] : nullptr, forward, factor, room);
    if (two && !second_pairs_) {
      Room of_other = room;
      of_other.middle += p_blocks_ * q_rows_ * row;
      Second(out[l + 1], nullptr, forward, factor, of_other);
    }
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
  std::complex<double>* const line = filter_.data();
  convolution_.Run(&line, &line, 1, true, 1 / static_cast<double>(m_), scratch);
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
                    bool forward, T factor, Scratch<double>& buffer,
                    Scratch<double>& scratch) const {
  using Z = std::complex<double>;
  const FftLoops<double>& loops = FindFftLoops<double>();
  const auto numbers = [](Z* z) { return reinterpret_cast<double*>(z); };
  Z* const a = reinterpret_cast<Z*>(buffer.Get(2 * m_));
  std::fill(a + n_, a + m_, Z());
  for (int64_t k = 0; k < n_; ++k) {
    const double re = in[k].real(), im = in[k].imag();
    a[k] = forward ? Z(re, im) : Z(im, re);
  }
  loops.multiply(numbers(a), reinterpret_cast<const double*>(chirp_.data()), n_,
                 numbers(a));
  convolution_.Run(&a, &a, 1, true, 1.0, scratch);
  loops.multiply(numbers(a), reinterpret_cast<const double*>(filter_.data()),
                 m_, numbers(a));
  convolution_.Run(&a, &a, 1, false, static_cast<double>(factor), scratch);
  loops.multiply(numbers(a), reinterpret_cast<const double*>(chirp_.data()), n_,
                 numbers(a));
  for (int64_t k = 0; k < n_; ++k) {
    const auto re = static_cast<T>(a[k].real()),
               im = static_cast<T>(a[k].imag());
    out[k] = forward ? std::complex<T>(re, im) : std::complex<T>(im, re);
  }
}

template void Bluestein::Run(const std::complex<float>*, std::complex<float>*,
                             bool, float, Scratch<double>&,
                             Scratch<double>&) const;
template void Bluestein::Run(const std::complex<double>*, std::complex<double>*,
                             bool, double, Scratch<double>&,
                             Scratch<double>&) const;

template class Scratch<float>;
template class Scratch<double>;
template class TwoStep<float>;
template class TwoStep<double>;

}  // namespace proa::inline v0::ops::fft
