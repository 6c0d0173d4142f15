// MomentsOf: count, mean and sum of squared distances from the mean of elements
// of type T, for Summarize (ops/primitives/cpu/summary.h).
//
// Elements are taken relative to a number near their mean (that of those before
// them), so that their squares are small where the variance is, and a few
// hundred of them are added up in T in lanes or columns; these sums meet in
// double by the formula of Chan, Golub and LeVeque (1983). An element's
// distance from the mean of those before it is part of the variance, so it
// cannot be large where the variance is small.
#ifndef PROA_OPS_REDUCTION_MOMENTS_OF_H_
#define PROA_OPS_REDUCTION_MOMENTS_OF_H_

#include <algorithm>
#include <cstdint>

#include "ops/primitives/cpu/ahead.h"
#include "ops/primitives/cpu/summary.h"

namespace proa::inline v0::ops::PROA_ISA {

template <class T>
struct MomentsOf {
  using Compute = T;

  struct State {
    double count = 0, mean = 0, squares = 0;
  };

  static void Merge(const State& later, State* state) {
    if (later.count == 0) return;
    const double count = state->count + later.count;
    const double distance = later.mean - state->mean;
    const double share = later.count / count;
    state->mean += distance * share;
    state->squares +=
        later.squares + distance * distance * (state->count * share);
    state->count = count;
  }

  static void AddRun(const T* x, int64_t n, State* state) {
    constexpr int kLanes = 32;
    if (n < kLanes) return AddFew(x, n, state);
    T shift = static_cast<T>(state->mean);
    if (state->count == 0) {
      T sum = 0;
      for (int j = 0; j < kLanes; ++j) sum += x[j];
      shift = sum / kLanes;
    }
    T sum[kLanes], squares[kLanes];
    for (int j = 0; j < kLanes; ++j) sum[j] = squares[j] = 0;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int j = 0; j < kLanes; j += 64 / sizeof(T)) {
        __builtin_prefetch(reinterpret_cast<const char*>(x + i + j) +
                           cpu::kAhead);
      }
      for (int j = 0; j < kLanes; ++j) {
        const T d = x[i + j] - shift;
        sum[j] += d;
        squares[j] += d * d;
      }
    }
    double total = 0, total_squares = 0;
    for (int j = 0; j < kLanes; ++j) {
      total += static_cast<double>(sum[j]);
      total_squares += static_cast<double>(squares[j]);
    }
    for (; i < n; ++i) {
      const double d = static_cast<double>(x[i]) - static_cast<double>(shift);
      total += d;
      total_squares += d * d;
    }
    Take(static_cast<double>(shift), total, total_squares,
         static_cast<double>(n), state);
  }

  class Columns {
   public:
    void Start(int64_t width) {
      count_ = taken_ = 0;
      next_ = summary::kRows;
      std::fill_n(mean_, width, 0.0);
      std::fill_n(squares_, width, 0.0);
    }

    void Add(const T* const* rows, int count, int64_t width, int64_t ahead) {
      if (count_ == 0 && taken_ == 0) {
        // The mean of the first rows: one of them alone could lie far off.
        const int few = std::min(count, 4);
        for (int64_t j = 0; j < width; ++j) shift_[j] = rows[0][j];
        for (int k = 1; k < few; ++k) {
          const T* row = rows[k];
          for (int64_t j = 0; j < width; ++j) shift_[j] += row[j];
        }
        for (int64_t j = 0; j < width; ++j) {
          shift_[j] = shift_[j] / static_cast<T>(few);
          sum_[j] = sum_squares_[j] = 0;
        }
      }
      if (count == 4) {
        summary::WithRowsAhead(
            rows, 4, width, ahead, [&](int64_t begin, int64_t end) {
              AddFour(rows[0], rows[1], rows[2], rows[3], begin, end);
            });
      } else {
        for (int r = 0; r < count; ++r) AddOne(rows[r], width);
      }
      taken_ += count;
      if (taken_ >= next_) {
        Flush(width);
        next_ = std::min<int64_t>(2 * next_, 128);
      }
    }

    void Finish(int64_t width, State* states) {
      if (taken_ > 0) Flush(width);
      for (int64_t j = 0; j < width; ++j) {
        states[j] = {static_cast<double>(count_), mean_[j], squares_[j]};
      }
    }

   private:
    void AddOne(const T* __restrict a, int64_t width) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const T d = a[j] - shift_[j];
        sum_[j] += d;
        sum_squares_[j] += d * d;
      }
    }

    void AddFour(const T* __restrict a, const T* __restrict b,
                 const T* __restrict c, const T* __restrict d, int64_t begin,
                 int64_t end) {
#pragma GCC ivdep
      for (int64_t j = begin; j < end; ++j) {
        const T s = shift_[j];
        const T e = a[j] - s, f = b[j] - s, g = c[j] - s, h = d[j] - s;
        sum_[j] += (e + f) + (g + h);
        sum_squares_[j] += (e * e + f * f) + (g * g + h * h);
      }
    }

    // Merges what was taken in since into the states, as Merge does.
    void Flush(int64_t width) {
      const double n = static_cast<double>(taken_);
      const double count = static_cast<double>(count_) + n;
      const double share = n / count;
      const double between = static_cast<double>(count_) * share;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const double sum = static_cast<double>(sum_[j]);
        const double offset = sum / n;
        const double inner =
            static_cast<double>(sum_squares_[j]) - sum * offset;
        const double distance =
            static_cast<double>(shift_[j]) + offset - mean_[j];
        mean_[j] += distance * share;
        squares_[j] +=
            (inner < 0 ? 0.0 : inner) + distance * distance * between;
        shift_[j] = static_cast<T>(mean_[j]);
        sum_[j] = sum_squares_[j] = 0;
      }
      count_ += taken_;
      taken_ = 0;
    }

    int64_t count_, taken_, next_;
    alignas(64) T shift_[summary::kColumns], sum_[summary::kColumns],
        sum_squares_[summary::kColumns];
    alignas(64) double mean_[summary::kColumns], squares_[summary::kColumns];
  };

 private:
  // Sums of distances from `shift` and of their squares.
  static void Take(double shift, double sum, double squares, double n,
                   State* state) {
    const double inner = squares - sum * (sum / n);
    Merge({n, shift + sum / n, inner < 0 ? 0 : inner}, state);
  }

  static void AddFew(const T* x, int64_t n, State* state) {
    const double shift = static_cast<double>(x[0]);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double d = static_cast<double>(x[i]) - shift;
      sum += d;
      squares += d * d;
    }
    Take(shift, sum, squares, static_cast<double>(n), state);
  }
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_REDUCTION_MOMENTS_OF_H_
