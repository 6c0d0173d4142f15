#include "ops/fft/rader.h"

#include "ops/fft/column_plan.h"

namespace proa::inline v0::ops::fft {
namespace {

// The powers of g modulo p, if they are all numbers but 0.
std::vector<int32_t> PowersOf(int64_t g, int64_t p) {
  std::vector<int32_t> powers;
  int64_t power = 1;
  do {
    powers.push_back(static_cast<int32_t>(power));
    power = power * g % p;
  } while (power != 1);
  return powers;
}

// The transform of some complex numbers, in double.
std::vector<double> TransformOf(const std::vector<double>& numbers) {
  const auto n = static_cast<int64_t>(numbers.size()) / 2;
  const ColumnPlan<double> plan(n);
  const int64_t lanes = FindFftLoops<double>().lanes, rows = n * 2 * lanes;
  std::vector<double> room(2 * rows + plan.work_rows() * 2 * lanes);
  for (int64_t k = 0; k < 2 * n; ++k) room[k * lanes] = numbers[k];
  const double* const done =
      plan.RunRows(room.data(), room.data() + rows, room.data() + 2 * rows);
  std::vector<double> results(2 * n);
  for (int64_t k = 0; k < 2 * n; ++k) results[k] = done[k * lanes];
  return results;
}

}  // namespace

template <typename T>
Rader<T>::Rader(int64_t p)
    : p_(p), plan_(std::make_unique<ColumnPlan<T>>(p - 1)) {
  for (int64_t g = 2; static_cast<int64_t>(powers_.size()) < p - 1; ++g)
    powers_ = PowersOf(g, p);
  std::vector<double> turns;
  for (int64_t q = 0; q < p - 1; ++q) {
    const auto turn = TurnOf(powers_[q == 0 ? 0 : p - 1 - q], p);
    turns.push_back(turn.real());
    turns.push_back(turn.imag());
  }
  for (const double number : TransformOf(turns))
    filter_.push_back(static_cast<T>(number / static_cast<double>(p - 1)));
}

template <typename T>
Rader<T>::~Rader() = default;
template <typename T>
Rader<T>::Rader(Rader&&) noexcept = default;

template <typename T>
int64_t Rader<T>::work_rows() const {
  return 2 * p_ + plan_->work_rows();
}

template <typename T>
int64_t Rader<T>::numbers() const {
  return plan_->numbers() + 4 * p_;
}

template <typename T>
void Rader<T>::Run(const ColumnPass<T>& pass, const PassSource<T>& in,
                   const PassSink<T>& out, T* work) const {
  const FftLoops<T>& loops = FindFftLoops<T>();
  const int64_t row = 2 * loops.lanes, n = p_ - 1;
  const int64_t before = pass.before, after = pass.after;
  T *const zero = work, *const a = zero + row, *const b = a + n * row;
  T* const rest = b + n * row;
  for (int64_t i = 0; i < after; ++i) {
    const T* const turns = i == 0 ? nullptr : pass.turns + i * 2 * n;
    for (int64_t k = 0; k < before; ++k) {
      loops.gather(in, i + p_ * after * k, after, powers_.data(), n, a, zero);
      T* const there = plan_->RunRows(a, b, rest);
      loops.filter(filter_.data(), n, there, zero);
      const T* const back = plan_->RunRows(there, there == a ? b : a, rest);
      loops.scatter(back, zero, powers_.data(), n, turns, out, i + after * k,
                    after * before);
    }
  }
}

template class Rader<float>;
template class Rader<double>;

}  // namespace proa::inline v0::ops::fft
