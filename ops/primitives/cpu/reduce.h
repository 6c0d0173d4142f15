// Reduce: folds dims of a strided tensor with an associative operation.
//
// The work is cut by sizes alone, never by the number of threads, and partial
// results meet in a fixed order: the same bits for any number of threads. Sums
// are formed in many lanes and then pairwise, so that rounding errors grow with
// the logarithm of the length. Elements are converted to the compute type block
// by block: float16 and bfloat16 accumulate in float, small integers in int64.
//
//   Tensor acc = Tensor::Empty(out->shape(), DType::kFloat32);
//   Reduce(MakeReduction<SumOf, float>(), x, ReducedAxes(x, axis),
//          acc.raw_data());
//
// For sources that are compiled once per instruction set.
#ifndef PROA_OPS_PRIMITIVES_CPU_REDUCE_H_
#define PROA_OPS_PRIMITIVES_CPU_REDUCE_H_

#include <cstdint>
#include <span>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

// An operation in one compute type, as loops (made by MakeReduction below).
struct Reduction {
  DType compute;
  // acc[i] = acc[i] op in[i].
  void (*merge)(const void* in, void* acc, int64_t n);
  // acc[r] = in[r][0] op ... op in[r][n - 1] for `rows` rows that begin
  // `row_stride` bytes apart, n >= 1.
  void (*fold)(const void* in, int64_t row_stride, int64_t n, int64_t rows,
               void* acc);
  void (*fill)(void* acc, int64_t n);  // with the identity
};

// The set of axes as bits; `axis` is as in the schemas: empty means all,
// negative counts from the end. Inference has checked it.
uint64_t ReducedAxes(const Tensor& x, std::span<const int64_t> axis);

// Elements that go into one result.
int64_t ReducedCount(const Tensor& x, uint64_t axes);

// Writes the results, one for each index of the other dims in row-major order,
// to `acc` in the compute type. Results of nothing are the identity.
void Reduce(const Reduction& op, const Tensor& x, uint64_t axes, void* acc);

namespace reduce_internal {

// `kLanes` accumulators side by side, then pairwise.
template <int kLanes, class Op, class T>
inline T FoldLanes(const T* in, int64_t n) {
  T lane[kLanes];
  for (int j = 0; j < kLanes; ++j) lane[j] = in[j];
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lane[j] = Op::Combine(lane[j], in[i + j]);
  }
  // A copy, which is indexed by variables, so that `lane` stays in registers.
  alignas(64) T rest[kLanes];
  for (int j = 0; j < kLanes; ++j) rest[j] = lane[j];
  for (int j = 0; j < n - i; ++j) rest[j] = Op::Combine(rest[j], in[i + j]);
#pragma GCC unroll 8
  for (int w = kLanes / 2; w > 0; w /= 2) {
    for (int j = 0; j < w; ++j) rest[j] = Op::Combine(rest[j], rest[j + w]);
  }
  return rest[0];
}

template <class Op, class T>
T FoldRun(const T* in, int64_t n) {
  constexpr int kWide = 256 / sizeof(T);
  constexpr int kNarrow = 8;
  if (n >= 2 * kWide) return FoldLanes<kWide, Op>(in, n);
  if (n >= 2 * kNarrow) return FoldLanes<kNarrow, Op>(in, n);
  T v = in[0];
  for (int64_t i = 1; i < n; ++i) v = Op::Combine(v, in[i]);
  return v;
}

// Rows of kN elements one behind the other, as FoldRun would: the loop over
// rows vectorizes.
template <int kN, class Op, class T>
void FoldShortRows(const T* in, int64_t rows, T* out) {
#pragma GCC ivdep
  for (int64_t r = 0; r < rows; ++r) {
    T v = in[r * kN];
#pragma GCC unroll 8
    for (int i = 1; i < kN; ++i) v = Op::Combine(v, in[r * kN + i]);
    out[r] = v;
  }
}

template <class Op, class T>
struct Loops {
  static void Merge(const void* in, void* acc, int64_t n) {
    const T* a = static_cast<const T*>(in);
    T* b = static_cast<T*>(acc);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) b[i] = Op::Combine(b[i], a[i]);
  }
  static void Fold(const void* in, int64_t row_stride, int64_t n, int64_t rows,
                   void* acc) {
    const char* row = static_cast<const char*>(in);
    T* out = static_cast<T*>(acc);
    if (row_stride == n * static_cast<int64_t>(sizeof(T))) {
      const T* elements = static_cast<const T*>(in);
      switch (n) {
        case 2:
          return FoldShortRows<2, Op>(elements, rows, out);
        case 3:
          return FoldShortRows<3, Op>(elements, rows, out);
        case 4:
          return FoldShortRows<4, Op>(elements, rows, out);
        case 8:
          return FoldShortRows<8, Op>(elements, rows, out);
        default:
          break;
      }
    }
    for (int64_t r = 0; r < rows; ++r, row += row_stride) {
      out[r] = FoldRun<Op>(reinterpret_cast<const T*>(row), n);
    }
  }
  static void Fill(void* acc, int64_t n) {
    T* out = static_cast<T*>(acc);
    const T identity = Op::template Identity<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = identity;
  }
};

}  // namespace reduce_internal

// `Op` has `static T Combine(T, T)` and `static T Identity<T>()`.
template <class Op, class T>
constexpr Reduction MakeReduction() {
  using L = reduce_internal::Loops<Op, T>;
  return {kDTypeOf<T>, L::Merge, L::Fold, L::Fill};
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_REDUCE_H_
