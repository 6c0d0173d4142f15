// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/linalg/dot_lines.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using Floats = VectorOf<float>;
using Vector = Floats::Type;
constexpr int kLanes = Floats::kLanes;

// What sums are formed in: integers wrap, which only unsigned ones may.
template <typename T>
struct SumsOf {
  using V = VectorOf<T>;
  using Number = T;
  using Type = typename V::Type;
  static Type MultiplyAdd(Type a, Type b, Type c) {
    return V::MultiplyAdd(a, b, c);
  }
};
template <typename T>
requires std::is_integral_v<T>
struct SumsOf<T> {
  using Number = std::make_unsigned_t<T>;
  using V = VectorOf<Number>;
  using Type = typename V::Type;
  static Type MultiplyAdd(Type a, Type b, Type c) { return a * b + c; }
};

// kLines lines, each by four vectors of sums.
template <int kLines, typename T>
void Dots(const T* first_line, int64_t line_step, const T* vector, int64_t k,
          T* out, int64_t out_step) {
  using S = SumsOf<T>;
  using V = typename S::V;
  using N = typename S::Number;
  using Sum = typename S::Type;
  constexpr int kSums = 4, kLanes = V::kLanes;
  const N *const lines = reinterpret_cast<const N*>(first_line),
                 *const v = reinterpret_cast<const N*>(vector);
  Sum sums[kLines][kSums] = {};
  int64_t q = 0;
  for (; q + kSums * kLanes <= k; q += kSums * kLanes) {
    Sum part[kSums];
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s) part[s] = V::Load(v + q + s * kLanes);
#pragma GCC unroll 4
    for (int i = 0; i < kLines; ++i) {
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s)
        sums[i][s] =
            S::MultiplyAdd(V::Load(lines + i * line_step + q + s * kLanes),
                           part[s], sums[i][s]);
    }
  }
  for (; q + kLanes <= k; q += kLanes) {
    const Sum part = V::Load(v + q);
#pragma GCC unroll 4
    for (int i = 0; i < kLines; ++i)
      sums[i][0] =
          S::MultiplyAdd(V::Load(lines + i * line_step + q), part, sums[i][0]);
  }
  for (int i = 0; i < kLines; ++i) {
    const Sum sum = (sums[i][0] + sums[i][1]) + (sums[i][2] + sums[i][3]);
    N lanes[kLanes];
    std::memcpy(lanes, &sum, sizeof(lanes));
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    N tail = 0;
    for (int64_t r = q; r < k; ++r) tail += lines[i * line_step + r] * v[r];
    out[i * out_step] = static_cast<T>(lanes[0] + tail);
  }
}

template <typename T>
void AllDots(const T* lines, int64_t line_step, const T* v, int64_t k,
             int64_t count, T* out, int64_t out_step) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    Dots<4>(lines + i * line_step, line_step, v, k, out + i * out_step,
            out_step);
  for (; i < count; ++i)
    Dots<1>(lines + i * line_step, line_step, v, k, out + i * out_step,
            out_step);
}

// kRows of them.
template <int kRows>
void AddSome(const float* rows, int64_t row_step, const float* v,
             int64_t v_step, int64_t count, float* out) {
  Vector factors[kRows];
  for (int i = 0; i < kRows; ++i) {
    float lanes[kLanes];
    std::fill_n(lanes, kLanes, v[i * v_step]);
    factors[i] = Floats::Load(lanes);
  }
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    Vector sum = Floats::Load(out + j);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
      sum = Floats::MultiplyAdd(Floats::Load(rows + i * row_step + j),
                                factors[i], sum);
    Floats::Store(out + j, sum);
  }
  for (; j < count; ++j) {
    for (int i = 0; i < kRows; ++i)
      out[j] += rows[i * row_step + j] * v[i * v_step];
  }
}

}  // namespace

void AddRows(const float* rows, int64_t row_step, const float* v,
             int64_t v_step, int64_t k, int64_t count, float* out) {
  constexpr int kSome = 8;
  int64_t q = 0;
  for (; q + kSome <= k; q += kSome)
    AddSome<kSome>(rows + q * row_step, row_step, v + q * v_step, v_step, count,
                   out);
  for (; q < k; ++q)
    AddSome<1>(rows + q * row_step, row_step, v + q * v_step, v_step, count,
               out);
}

void DotLines(const float* lines, int64_t line_step, const float* v, int64_t k,
              int64_t count, float* out, int64_t out_step) {
  AllDots(lines, line_step, v, k, count, out, out_step);
}
void DotLines(const double* lines, int64_t line_step, const double* v,
              int64_t k, int64_t count, double* out, int64_t out_step) {
  AllDots(lines, line_step, v, k, count, out, out_step);
}
void DotLines(const int64_t* lines, int64_t line_step, const int64_t* v,
              int64_t k, int64_t count, int64_t* out, int64_t out_step) {
  AllDots(lines, line_step, v, k, count, out, out_step);
}
void DotLines(const int32_t* lines, int64_t line_step, const int32_t* v,
              int64_t k, int64_t count, int32_t* out, int64_t out_step) {
  AllDots(lines, line_step, v, k, count, out, out_step);
}

}  // namespace proa::inline v0::ops::PROA_ISA
