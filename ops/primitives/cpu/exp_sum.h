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

#include "ops/primitives/cpu/summary.h"
#include "ops/primitives/host_device.h"
#include "ops/primitives/vector_math.h"

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
    State run;
    run.largest = state->largest;
    for (int64_t i = 0; i < std::min<int64_t>(n, 32); ++i) {
      run.largest = Larger(run.largest, x[i]);
    }
    T largest = SumFrom(Center(run.largest), x, n, &run.sum);
    if (largest > Center(run.largest) + kAbove) {
      SumFrom(Center(largest), x, n, &run.sum);
      run.largest = largest;
    }
    largest = Larger(largest, run.largest);
    Merge(run, state);
    Raise(largest, state);
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
  PROA_HD static double Term(double x) { return std::exp(x > 700 ? 700 : x); }

  // Returns the largest element; *sum is only right if that is not far above
  // `center`.
  PROA_STRAIGHT_LINE static T SumFrom(T center, const T* x, int64_t n, T* sum) {
    constexpr int kLanes = 32;
    T lanes[kLanes], tops[kLanes];
    for (int j = 0; j < kLanes; ++j) {
      lanes[j] = 0;
      tops[j] = kLowest;
    }
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int j = 0; j < kLanes; j += 64 / sizeof(T)) {
        __builtin_prefetch(reinterpret_cast<const char*>(x + i + j) +
                           summary::kAhead);
      }
      for (int j = 0; j < kLanes; ++j) {
        const T v = x[i + j];
        lanes[j] += Term(v - center);
        tops[j] = Larger(tops[j], v);
      }
    }
    // Copies, which are indexed by variables, so that lanes stay in registers.
    alignas(64) T rest[kLanes], top[kLanes];
    for (int j = 0; j < kLanes; ++j) {
      rest[j] = lanes[j];
      top[j] = tops[j];
    }
    for (int j = 0; i < n; ++i, ++j) {
      rest[j] += Term(x[i] - center);
      top[j] = Larger(top[j], x[i]);
    }
    for (int w = kLanes / 2; w > 0; w /= 2) {
      for (int j = 0; j < w; ++j) {
        rest[j] += rest[j + w];
        top[j] = Larger(top[j], top[j + w]);
      }
    }
    *sum = rest[0];
    return top[0];
  }

  // Measures the sum from `largest`, which is no less than before.
  static void Raise(T largest, State* state) {
    state->sum *= Term(Center(state->largest) - Center(largest));
    state->largest = largest;
  }
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_EXP_SUM_H_
