// ExpSumOf: the largest of some elements and the sum of exp(x - largest), which
// does not overflow, for Summarize (summary.h): what logsumexp and softmax are
// made of. One pass: elements are measured from the largest of those before
// them, and only where that lies far below are they looked at twice.
//
// A NaN among the elements makes the sum NaN, and nothing else does; NaN is
// never the largest.
#ifndef PROA_OPS_PRIMITIVES_CPU_EXP_SUM_H_
#define PROA_OPS_PRIMITIVES_CPU_EXP_SUM_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/primitives/cpu/ahead.h"
#include "ops/primitives/cpu/summary.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"
#include "ops/primitives/vector_math_double.h"

namespace proa::inline v0::ops::PROA_ISA {

template <class T>
struct ExpSumOf {
  using Compute = T;
  static constexpr T kLowest = -std::numeric_limits<T>::infinity();
  // Of an element for Summarize.
  static constexpr int64_t kCost = 6;

  struct State {
    T largest = kLowest, sum = 0;
  };

  static void Merge(const State& later, State* state) {
    const T top = Larger(state->largest, later.largest), center = Center(top);
    state->sum = state->sum * Term(Center(state->largest) - center) +
                 later.sum * Term(Center(later.largest) - center);
    state->largest = top;
  }

  static void AddRun(const T* x, int64_t n, State* state) {
    const Run run{x, state};
    AddSome<1>(&run, n);
  }

  // Both at once: memory brings two runs that lie apart sooner than one of as
  // many elements.
  static void AddTwoRuns(const T* x, State* of_x, const T* y, State* of_y,
                         int64_t n) requires std::is_same_v<T, float> {
    const Run runs[] = {{x, of_x}, {y, of_y}};
    AddSome<2>(runs, n);
  }

  class Columns {
   public:
    void Start(int64_t width) {
      std::fill_n(largest_, width, kLowest);
      std::fill_n(center_, width, Center(kLowest));
      std::fill_n(sum_, width, T(0));
    }

    void Add(const T* const* rows, int count, int64_t width, int64_t ahead) {
      std::copy_n(largest_, width, top_);
      if (count == 4) {
        RaiseTop(rows[0], rows[1], rows[2], rows[3], width);
      } else {
        for (int r = 0; r < count; ++r)
          RaiseTop(rows[r], rows[r], rows[r], rows[r], width);
      }
      // Where nothing grew much the sums go on as they are.
      int far = 0;
      for (int64_t j = 0; j < width; ++j) {
        largest_[j] = top_[j];
        far |= top_[j] > center_[j] + kAbove;
      }
      if (far != 0) Recenter(width);
      if (count < 4) {
        for (int r = 0; r < count; ++r) AddOne(rows[r], width);
        return;
      }
      summary::WithRowsAhead(
          rows, 4, width, ahead, [&](int64_t begin, int64_t end) {
            AddFour(rows[0], rows[1], rows[2], rows[3], begin, end);
          });
    }

    void Finish(int64_t width, State* states) {
      for (int64_t j = 0; j < width; ++j) {
        states[j] = {largest_[j],
                     sum_[j] * Term(center_[j] - Center(largest_[j]))};
      }
    }

   private:
    PROA_STRAIGHT_LINE void RaiseTop(const T* a, const T* b, const T* c,
                                     const T* d, int64_t width) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        top_[j] =
            Larger(Larger(Larger(Larger(top_[j], a[j]), b[j]), c[j]), d[j]);
      }
    }

    PROA_STRAIGHT_LINE void Recenter(int64_t width) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const T center = Center(largest_[j]);
        sum_[j] *= Term(center_[j] - center);
        center_[j] = center;
      }
    }

    PROA_STRAIGHT_LINE void AddOne(const T* a, int64_t width) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) sum_[j] += Term(a[j] - center_[j]);
    }

    PROA_STRAIGHT_LINE void AddFour(const T* a, const T* b, const T* c,
                                    const T* d, int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t j = begin; j < end; ++j) {
        const T center = center_[j];
        sum_[j] += (Term(a[j] - center) + Term(b[j] - center)) +
                   (Term(c[j] - center) + Term(d[j] - center));
      }
    }

    alignas(64) T largest_[summary::kColumns], center_[summary::kColumns],
        sum_[summary::kColumns], top_[summary::kColumns];
  };

 private:
  // Elements may be so much larger than what they are measured from: thousands
  // of exponentials of that can be added up.
  static constexpr T kAbove = 40;

  // `b` may be NaN, which is passed over.
  PROA_HD static T Larger(T a, T b) { return b > a ? b : a; }

  // What elements are measured from: infinities cannot be subtracted from
  // themselves.
  PROA_HD static T Center(T largest) {
    constexpr T kMost = std::numeric_limits<T>::max();
    largest = largest > kMost ? kMost : largest;
    return largest < -kMost ? -kMost : largest;
  }

  // e^x for x <= kAbove, beyond that something large, but finite. Results below
  // 2^-126 are about that: beside a sum of 1 they are nothing, and so is that
  // ln 2 is a float here, which is wrong by 2^-28 x of a result.
  PROA_HD static float Term(float x) {
    constexpr float kMagic = 0x1.8p23f + 127;  // as in vmath::ReduceExpBiased
    constexpr float kMost = 60;   // beyond kAbove; infinity would become NaN
    x = -87.3f > x ? -87.3f : x;  // NaN stays
    x = kMost < x ? kMost : x;
    const float shifted = vmath::Fma(x, 0x1.715476p0f, kMagic);
    const float r = vmath::Fma(shifted - kMagic, -0x1.62e430p-1f, x);
    const float s = r * r;
    const float p = vmath::Fma(0x1.5557aep-3f, r, 0x1.fffdfcp-2f);
    const float q = vmath::Fma(0x1.10627ap-7f, r, 0x1.572a06p-5f);
    const float e = vmath::Fma(s, vmath::Fma(s, q, p), r);
    return vmath::OnePlusTimes(
        e, vmath::PowerOfBiased(std::bit_cast<uint32_t>(shifted)));
  }
  PROA_HD static double Term(double x) { return vmath::Exp(x > 700 ? 700 : x); }

  struct Run {
    const T* x;
    State* state;
  };

  template <int kRuns>
  static void AddSome(const Run* runs, int64_t n) {
    const T* x[kRuns];
    State found[kRuns];
    T centers[kRuns], sums[kRuns], tops[kRuns];
    for (int r = 0; r < kRuns; ++r) {
      x[r] = runs[r].x;
      found[r].largest = runs[r].state->largest;
      for (int64_t i = 0; i < std::min<int64_t>(n, 32); ++i) {
        found[r].largest = Larger(found[r].largest, x[r][i]);
      }
      centers[r] = Center(found[r].largest);
    }
    SumFrom<kRuns>(centers, x, n, sums, tops);
    for (int r = 0; r < kRuns; ++r) {
      State& state = *runs[r].state;
      if (tops[r] > centers[r] + kAbove) {
        const T center = Center(tops[r]);
        T top;
        SumFrom<1>(&center, &x[r], n, &sums[r], &top);
        found[r].largest = tops[r];
      }
      found[r].sum = sums[r];
      Merge(found[r], &state);
      Raise(Larger(tops[r], found[r].largest), &state);
    }
  }

  // Of each run the largest element, and the sum, which is only right if that
  // is not far above the center.
  template <int kRuns>
  PROA_STRAIGHT_LINE static void SumFrom(const T* centers, const T* const* x,
                                         int64_t n, T* sums, T* found) {
    constexpr int kLanes = 32;
    T lanes[kRuns][kLanes], tops[kRuns][kLanes];
    for (int r = 0; r < kRuns; ++r) {
      for (int j = 0; j < kLanes; ++j) {
        lanes[r][j] = 0;
        tops[r][j] = kLowest;
      }
    }
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 2
      for (int r = 0; r < kRuns; ++r) {
        const T* const from = x[r] + i;
        const T center = centers[r];
        cpu::AskAhead(from, kLanes * sizeof(T));
        for (int j = 0; j < kLanes; ++j) {
          const T v = from[j];
          lanes[r][j] += Term(v - center);
          tops[r][j] = Larger(tops[r][j], v);
        }
      }
    }
    for (int r = 0; r < kRuns; ++r) {
      // Copies, which are indexed by variables, so that lanes stay in
      // registers.
      alignas(64) T rest[kLanes], top[kLanes];
      for (int j = 0; j < kLanes; ++j) {
        rest[j] = lanes[r][j];
        top[j] = tops[r][j];
      }
      for (int j = 0; j < n - i; ++j) {
        const T v = x[r][i + j];
        rest[j] += Term(v - centers[r]);
        top[j] = Larger(top[j], v);
      }
      for (int w = kLanes / 2; w > 0; w /= 2) {
        for (int j = 0; j < w; ++j) {
          rest[j] += rest[j + w];
          top[j] = Larger(top[j], top[j + w]);
        }
      }
      sums[r] = rest[0];
      found[r] = top[0];
    }
  }

  // Measures the sum from `largest`, which is no less than before.
  static void Raise(T largest, State* state) {
    state->sum *= Term(Center(state->largest) - Center(largest));
    state->largest = largest;
  }
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_EXP_SUM_H_
