#include "ops/fft/line_transform.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "tensor/error.h"

namespace proa::inline v0::ops::fft {
namespace {

// What all plans of a thread may hold before they are dropped, in bytes; and
// one buffer, before it is given back.
constexpr int64_t kMostKept = int64_t{64} << 20;

// Longer lines are not transformed in rows, which would not fit into a cache.
constexpr int64_t kMostRows = 4096;

// Cycles of a row that is loaded from lines and stored to them, and of a block
// of rows.
constexpr double kTransposes = 14, kBlock = 150;

constexpr double kNever = std::numeric_limits<double>::max();

template <typename T>
T* Numbers(std::complex<T>* c) {
  return reinterpret_cast<T*>(c);
}
template <typename T>
const T* Numbers(const std::complex<T>* c) {
  return reinterpret_cast<const T*>(c);
}

// The starts of as many lines as a vector has lanes: those after the last are
// `unused`, or the first.
template <typename E>
struct Starts {
  E* at[16];
};
template <typename N, typename E>
Starts<N> StartsOf(const LineBlock<E>& block, int64_t lanes, N* unused) {
  Starts<N> starts;
  for (int64_t l = 0; l < lanes; ++l) {
    starts.at[l] =
        l < block.count ? reinterpret_cast<N*>(block.lines[l]) : unused;
  }
  return starts;
}

}  // namespace

template <typename T>
LineTransform<T>& LineTransform<T>::OfThread() {
  // By a pointer: a thread's own memory is scarce where libraries are loaded
  // late.
  static thread_local std::unique_ptr<LineTransform> transform;
  if (transform == nullptr) transform = std::make_unique<LineTransform>();
  return *transform;
}

template <typename T>
int64_t LineTransform<T>::Lanes() {
  return FindFftLoops<T>().lanes;
}

template <typename T>
void LineTransform<T>::Keep(int64_t bytes) {
  kept_ += bytes;
}

template <typename T>
typename LineTransform<T>::Plan& LineTransform<T>::Of(int64_t n) {
  PROA_REQUIRE(n >= 1 && n <= kMaxPoints, "a Fourier transform of ", n,
               " points; at most ", kMaxPoints, " are supported");
  const auto found = plans_.find(n);
  if (found != plans_.end()) return *found->second;
  // Made in full before it is kept: memory may run out on the way.
  auto plan = std::make_unique<Plan>();
  plan->column_cost = plan->line_cost = kNever;
  const bool smooth = HasColumnPlan(n);
  if (smooth && n <= kMostRows) {
    const int64_t row_bytes = 2 * Lanes() * static_cast<int64_t>(sizeof(T));
    plan->column_cost =
        static_cast<double>(n) * (CostOf(n, row_bytes, nullptr) + kTransposes) +
        kBlock;
  }
  int64_t numbers = 0;
  const Split split = BestSplit<T>(n);
  if (split.p != 0 && split.cost < plan->column_cost) {
    plan->line_cost = split.cost;
    plan->two_step.emplace(split.p, split.q);
    numbers = plan->two_step->numbers() * static_cast<int64_t>(sizeof(T));
  } else if (LargestFactor(n) > kLargestPrime) {
    plan->line_cost = smooth ? Bluestein::Cost(n) : 0;
    plan->bluestein.emplace(n);
    numbers = plan->bluestein->numbers() * static_cast<int64_t>(sizeof(double));
  }
  if (kept_ + numbers > kMostKept) {
    plans_.clear();
    turns_.clear();
    kept_ = 0;
  }
  Plan& made = *plan;
  plans_[n] = std::move(plan);
  Keep(numbers);
  return made;
}

template <typename T>
const ColumnPlan<T>& LineTransform<T>::Columns(Plan& plan, int64_t n) {
  if (!plan.columns.has_value()) {
    plan.columns.emplace(n);
    Keep(plan.columns->numbers() * static_cast<int64_t>(sizeof(T)));
  }
  return *plan.columns;
}

template <typename T>
const T* LineTransform<T>::Turns(int64_t n) {
  const auto found = turns_.find(n);
  if (found != turns_.end()) return found->second.data();
  std::vector<T> turns;
  turns.reserve(n / 2 + 2);
  for (int64_t k = 0; k <= n / 4; ++k) {
    const auto turn = TurnOf(k, n);
    turns.push_back(static_cast<T>(turn.real()));
    turns.push_back(static_cast<T>(turn.imag()));
  }
  Keep(static_cast<int64_t>(turns.size() * sizeof(T)));
  return (turns_[n] = std::move(turns)).data();
}

template <typename T>
bool LineTransform<T>::Together(const Plan& plan, int64_t count,
                                bool lines) const {
  if (!lines || plan.line_cost == kNever) return true;
  return plan.column_cost < plan.line_cost * static_cast<double>(count);
}

template <typename T>
bool LineTransform<T>::TakesColumns(int64_t n, bool real) {
  const int64_t m = real && n % 2 == 0 ? n / 2 : n;
  return m >= 1 && m <= kMostRows && HasColumnPlan(m);
}

template <typename T>
typename LineTransform<T>::Rows LineTransform<T>::RowsOf(
    const ColumnPlan<T>& plan, int64_t rows) {
  const int64_t row = 2 * Lanes();
  T* const a = scratch_.Get((2 * rows + plan.work_rows()) * row);
  return {a, a + rows * row, a + 2 * rows * row};
}

template <typename T>
void LineTransform<T>::AlongLines(const Plan& plan, const C* const* in,
                                  C* const* out, int64_t count, bool forward,
                                  T factor) {
  if (!plan.bluestein.has_value()) {
    plan.two_step->Run(in, out, count, forward, factor, scratch_);
    scratch_.Trim(kMostKept);
    return;
  }
  for (int64_t l = 0; l < count; ++l)
    plan.bluestein->Run(in[l], out[l], forward, factor, line_, convolution_);
  line_.Trim(kMostKept);
  convolution_.Trim(kMostKept);
}

template <typename T>
void LineTransform<T>::Complex(const LineBlock<const C>& in,
                               const LineBlock<C>& out, int64_t n, bool forward,
                               T factor) {
  Plan& plan = Of(n);
  const bool lines = in.lines != nullptr;
  if (!Together(plan, in.count, lines)) {
    AlongLines(plan, in.lines, out.lines, in.count, forward, factor);
    return;
  }
  const FftLoops<T>& loops = FindFftLoops<T>();
  const ColumnPlan<T>& columns = Columns(plan, n);
  const Rows rows = RowsOf(columns, n);
  if (lines) {
    const auto from = StartsOf<const T>(in, loops.lanes, Numbers(in.lines[0]));
    loops.load_lines(from.at, n, !forward, rows.a);
    const T* const done = columns.RunRows(rows.a, rows.b, rows.work);
    unused_.resize(n);
    const auto to = StartsOf<T>(out, loops.lanes, Numbers(unused_.data()));
    loops.store_lines(done, n, !forward, factor, to.at);
    return;
  }
  const T* const from = Numbers(in.columns);
  T* const to = Numbers(out.columns);
  if (in.count == loops.lanes) {
    columns.Run({from, 2 * in.row, loops.lanes, !forward},
                {to, 2 * out.row, loops.lanes, !forward, factor}, rows.a,
                rows.b, rows.work);
    return;
  }
  loops.load_columns(from, 2 * in.row, n, in.count, !forward, rows.a);
  const T* const done = columns.RunRows(rows.a, rows.b, rows.work);
  loops.store_columns(done, n, in.count, !forward, factor, to, 2 * out.row);
}

template <typename T>
void LineTransform<T>::RealAlongLines(const Plan& plan, const T* const* in,
                                      C* const* out, int64_t count, int64_t n,
                                      bool forward, T factor) {
  const FftLoops<T>& loops = FindFftLoops<T>();
  if (n % 2 == 0) {
    const T* const turns = Turns(n);
    const T sign = forward ? 1 : -1;
    for (int64_t l = 0; l < count; l += 2) {
      const int64_t two = std::min<int64_t>(2, count - l);
      const C* pairs[2] = {reinterpret_cast<const C*>(in[l]),
                           reinterpret_cast<const C*>(in[l + two - 1])};
      AlongLines(plan, pairs, out + l, two, true, 1);
      for (int64_t i = l; i < l + two; ++i)
        loops.split_line(Numbers(out[i]), n / 2, turns, sign, factor);
    }
    return;
  }
  buffer_.resize(n);
  C* const line = buffer_.data();
  for (int64_t l = 0; l < count; ++l) {
    std::copy_n(in[l], n, line);
    AlongLines(plan, &line, &line, 1, forward, factor);
    std::copy_n(line, n / 2 + 1, out[l]);
  }
}

template <typename T>
void LineTransform<T>::RealBackAlongLines(const Plan& plan, const C* const* in,
                                          T* const* out, int64_t count,
                                          int64_t n, bool forward, T factor) {
  const FftLoops<T>& loops = FindFftLoops<T>();
  if (n % 2 == 0) {
    const T* const turns = Turns(n);
    const T sign = forward ? -1 : 1;
    const int64_t m = n / 2;
    buffer_.resize(2 * m);
    for (int64_t l = 0; l < count; l += 2) {
      const int64_t two = std::min<int64_t>(2, count - l);
      C* const pairs[2] = {buffer_.data(), buffer_.data() + m};
      for (int64_t i = 0; i < two; ++i)
        loops.join_line(Numbers(in[l + i]), m, turns, sign, Numbers(pairs[i]));
      C* const to[2] = {reinterpret_cast<C*>(out[l]),
                        reinterpret_cast<C*>(out[l + two - 1])};
      AlongLines(plan, pairs, to, two, false, factor);
    }
    return;
  }
  buffer_.resize(n);
  C* const line = buffer_.data();
  for (int64_t l = 0; l < count; ++l) {
    line[0] = C(in[l][0].real(), 0);
    for (int64_t k = 1; k <= n / 2; ++k) {
      line[k] = in[l][k];
      line[n - k] = std::conj(in[l][k]);
    }
    AlongLines(plan, &line, &line, 1, forward, factor);
    for (int64_t j = 0; j < n; ++j) out[l][j] = line[j].real();
  }
}

template <typename T>
void LineTransform<T>::RealToHalf(const LineBlock<const T>& in,
                                  const LineBlock<C>& out, int64_t n,
                                  bool forward, T factor) {
  const bool pairs = n % 2 == 0, lines = in.lines != nullptr;
  const int64_t m = pairs ? n / 2 : n;
  Plan& plan = Of(m);
  const FftLoops<T>& loops = FindFftLoops<T>();
  const T sign = forward ? 1 : -1;
  if (!Together(plan, in.count, lines)) {
    RealAlongLines(plan, in.lines, out.lines, in.count, n, forward, factor);
    return;
  }
  const ColumnPlan<T>& columns = Columns(plan, m);
  const Rows rows = RowsOf(columns, m + 1);
  const bool swap = !pairs && !forward;
  if (lines) {
    const auto from = StartsOf<const T>(in, loops.lanes, in.lines[0]);
    (pairs ? loops.load_lines : loops.load_real_lines)(from.at, m, swap,
                                                       rows.a);
  } else {
    loops.load_real_columns(in.columns, in.row, m, in.count, pairs, swap,
                            rows.a);
  }
  T* done = columns.RunRows(rows.a, rows.b, rows.work);
  if (pairs) {
    T* const split = done == rows.a ? rows.b : rows.a;
    loops.split_rows(done, m, Turns(n), sign, split);
    done = split;
  }
  if (lines) {
    unused_.resize(n / 2 + 1);
    const auto to = StartsOf<T>(out, loops.lanes, Numbers(unused_.data()));
    loops.store_lines(done, n / 2 + 1, swap, factor, to.at);
  } else {
    loops.store_columns(done, n / 2 + 1, in.count, swap, factor,
                        Numbers(out.columns), 2 * out.row);
  }
}

template <typename T>
void LineTransform<T>::HalfToReal(const LineBlock<const C>& in,
                                  const LineBlock<T>& out, int64_t n,
                                  bool forward, T factor) {
  const bool pairs = n % 2 == 0, lines = in.lines != nullptr;
  const int64_t m = pairs ? n / 2 : n;
  Plan& plan = Of(m);
  const FftLoops<T>& loops = FindFftLoops<T>();
  const T sign = forward ? -1 : 1;
  if (!Together(plan, in.count, lines)) {
    RealBackAlongLines(plan, in.lines, out.lines, in.count, n, forward, factor);
    return;
  }
  const ColumnPlan<T>& columns = Columns(plan, m);
  const Rows rows = RowsOf(columns, m + 1);
  const bool swap = pairs || !forward;
  if (lines) {
    const auto from = StartsOf<const T>(in, loops.lanes, Numbers(in.lines[0]));
    loops.load_lines(from.at, n / 2 + 1, !pairs && swap, rows.a);
  } else {
    loops.load_columns(Numbers(in.columns), 2 * in.row, n / 2 + 1, in.count,
                       !pairs && swap, rows.a);
  }
  T* start = rows.a;
  if (pairs) {
    loops.join_rows(rows.a, m, Turns(n), sign, rows.b);
    start = rows.b;
  } else {
    loops.mirror_rows(rows.a, n, swap);
  }
  const T* const done =
      columns.RunRows(start, start == rows.a ? rows.b : rows.a, rows.work);
  if (!lines) {
    return loops.store_real_columns(done, m, in.count, pairs, swap, factor,
                                    out.columns, out.row);
  }
  unused_.resize(n);
  const auto to = StartsOf<T>(out, loops.lanes, Numbers(unused_.data()));
  (pairs ? loops.store_lines : loops.store_real_lines)(done, m, swap, factor,
                                                       to.at);
}

template class LineTransform<float>;
template class LineTransform<double>;

}  // namespace proa::inline v0::ops::fft
