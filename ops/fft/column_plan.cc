#include "ops/fft/column_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>

namespace proa::inline v0::ops::fft {
namespace {

// A radix with an unrolled loop, and what it costs for each of its points.
struct Radix {
  int64_t points;
  double cost;
};
constexpr Radix kRadices[] = {{16, 7.5}, {8, 5.7},  {4, 5},  {2, 4.8}, {3, 5},
                              {5, 5},    {7, 5.2},  {6, 6},  {9, 5.7}, {10, 6},
                              {12, 6.3}, {15, 7.5}, {11, 9}, {13, 9.8}};

double CostOfPrime(int64_t p) { return 8 + 0.48 * static_cast<double>(p); }

// Of Rader's steps besides two transforms.
constexpr double kRaderEnds = 25;

// Of a pass over rows that do not fit into the first cache.
constexpr double kFarRows = 4.5;

int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// The cheapest ways of n and of what is left of it.
class Ways {
 public:
  explicit Ways(double of_pass) : of_pass_(of_pass) {}

  struct Way {
    double cost;
    int64_t radix;
  };

  const Way& Of(int64_t n) {
    const auto found = ways_.find(n);
    if (found != ways_.end()) return found->second;
    Way best{0, 1};
    const auto try_radix = [&](int64_t radix, double cost) {
      const double all = cost + of_pass_ + Of(n / radix).cost;
      if (best.radix == 1 || all < best.cost) best = {all, radix};
    };
    for (const auto& [points, cost] : kRadices) {
      if (n % points == 0) try_radix(points, cost);
    }
    if (best.radix == 1 && n > 1) {
      const int64_t p = SmallestFactor(n);
      try_radix(p, p <= kLargestPrime ? CostOfPrime(p)
                                      : 2 * Of(p - 1).cost + kRaderEnds);
    }
    return ways_[n] = best;
  }

 private:
  double of_pass_;
  std::map<int64_t, Way> ways_;
};

// Looked up many times when a length is chosen; few enough to be kept. By a
// pointer: a thread's own memory is scarce where libraries are loaded late.
struct KnownWays {
  Ways near{0}, far{kFarRows};

  static KnownWays& OfThread() {
    if (of_thread == nullptr) of_thread = std::make_unique<KnownWays>();
    return *of_thread;
  }

 private:
  static thread_local std::unique_ptr<KnownWays> of_thread;
};

thread_local std::unique_ptr<KnownWays> KnownWays::of_thread;

bool IsLarge(int64_t radix) { return radix > kLargestPrime; }

template <typename T>
void AppendTurn(std::complex<double> turn, std::vector<T>& to) {
  to.push_back(static_cast<T>(turn.real()));
  to.push_back(static_cast<T>(turn.imag()));
}

// The table of ColumnPass::prime.
template <typename T>
void AppendPrime(int64_t p, std::vector<T>& to) {
  for (int64_t block = 1; block <= p / 2; block += kPrimeBlock) {
    for (int64_t j = 1; j <= p / 2; ++j) {
      for (int64_t k = block; k < block + kPrimeBlock; ++k)
        AppendTurn(std::conj(TurnOf(j * k % p, p)), to);
    }
  }
}

}  // namespace

std::complex<double> TurnOf(int64_t k, int64_t n) {
  // Of an angle below one eighth: its last bits decide.
  k %= n;
  if (2 * k > n) return std::conj(TurnOf(n - k, n));
  if (4 * k > n) {
    const auto turn = TurnOf(4 * k - n, 4 * n);
    return {turn.imag(), -turn.real()};
  }
  if (8 * k > n) {
    const auto turn = TurnOf(n - 4 * k, 4 * n);
    return {-turn.imag(), -turn.real()};
  }
  const double angle =
      2 * std::numbers::pi * (static_cast<double>(k) / static_cast<double>(n));
  return {std::cos(angle), -std::sin(angle)};
}

int64_t LargestFactor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

bool HasColumnPlan(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) {
      if (p > kLargestPrime) return false;  // a square is too long
    }
  }
  return n <= kLargestPrime ||
         (n <= kLargestRader && LargestFactor(n - 1) <= kLargestPrime);
}

double CostOf(int64_t n, int64_t row_bytes, std::vector<int64_t>* radices) {
  KnownWays& known = KnownWays::OfThread();
  Ways& ways = 2 * n * row_bytes <= kNearBytes ? known.near : known.far;
  const double cost = ways.Of(n).cost;
  for (int64_t rest = n; radices != nullptr && rest > 1;) {
    radices->push_back(ways.Of(rest).radix);
    rest /= radices->back();
  }
  return cost;
}

template <typename T>
ColumnPlan<T>::ColumnPlan(int64_t n) : n_(n) {
  std::vector<int64_t> radices;
  CostOf(n, FindFftLoops<T>().lanes * 2 * static_cast<int64_t>(sizeof(T)),
         &radices);
  if (n == 1) radices = {1};
  std::vector<std::pair<int64_t, int64_t>> starts;  // of turns and primes
  int64_t before = 1;
  for (const int64_t radix : radices) {
    const int64_t after = n / before / radix;
    starts.emplace_back(numbers_.size(), 0);
    for (int64_t k = 0; k < after; ++k) {
      for (int64_t j = 1; j < radix; ++j)
        AppendTurn(TurnOf(j * k * before, n), numbers_);
    }
    starts.back().second = static_cast<int64_t>(numbers_.size());
    const bool unrolled =
        radix == 1 ||
        std::any_of(std::begin(kRadices), std::end(kRadices),
                    [&](const Radix& r) { return r.points == radix; });
    if (IsLarge(radix)) {
      raders_.emplace_back(radix);
      work_rows_ = std::max(work_rows_, raders_.back().work_rows());
    } else if (!unrolled) {
      AppendPrime(radix, numbers_);
      work_rows_ = std::max(work_rows_, 2 * radix);
    }
    passes_.push_back({radix, before, after, nullptr, nullptr});
    before *= radix;
  }
  for (size_t i = 0; i < passes_.size(); ++i) {
    passes_[i].turns = numbers_.data() + starts[i].first;
    passes_[i].prime = numbers_.data() + starts[i].second;
  }
}

template <typename T>
int64_t ColumnPlan<T>::numbers() const {
  auto numbers = static_cast<int64_t>(numbers_.size());
  for (const auto& rader : raders_) numbers += rader.numbers();
  return numbers;
}

template <typename T>
void ColumnPlan<T>::Run(const PassSource<T>& in, const PassSink<T>& out, T* a,
                        T* b, T* work) const {
  const FftLoops<T>& loops = FindFftLoops<T>();
  const int64_t dense = 2 * loops.lanes;
  auto rader = raders_.begin();
  const auto run = [&](const ColumnPass<T>& pass, const PassSource<T>& source,
                       const PassSink<T>& sink) {
    if (IsLarge(pass.radix)) {
      (rader++)->Run(pass, source, sink, work);
    } else {
      loops.pass(pass, source, sink, work);
    }
  };
  PassSource<T> source = in;
  for (size_t i = 0; i + 1 < passes_.size(); ++i) {
    T* const to = source.from == a ? b : a;
    run(passes_[i], source, {.to = to, .row = dense});
    source = {.from = to, .row = dense};
  }
  run(passes_.back(), source, out);
}

template <typename T>
T* ColumnPlan<T>::RunRows(T* a, T* b, T* work) const {
  const int64_t dense = 2 * FindFftLoops<T>().lanes;
  T* const result = passes_.size() % 2 == 0 ? a : b;
  Run({.from = a, .row = dense}, {.to = result, .row = dense}, a, b, work);
  return result;
}

template class ColumnPlan<float>;
template class ColumnPlan<double>;

}  // namespace proa::inline v0::ops::fft
