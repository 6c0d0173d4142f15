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

#include "ops/primitives/host_device.h"
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
  // merge and fold of elements of x, where those of `Op` with a Take differ
  // from partial results.
  void (*merge_elements)(const void* in, void* acc, int64_t n) = merge;
  void (*fold_elements)(const void* in, int64_t row_stride, int64_t n,
                        int64_t rows, void* acc) = fold;
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

// Elements of x as they are taken in.
struct Plain {
  template <class T>
  PROA_HD static T Of(T v) {
    return v;
  }
};
template <class Op>
struct Taken {
  template <class T>
  PROA_HD static T Of(T v) {
    return Op::Take(v);
  }
};

// `kLanes` accumulators side by side, then pairwise.
template <int kLanes, class Op, class Element, class T>
inline T FoldLanes(const T* in, int64_t n) {
  T lane[kLanes];
  for (int j = 0; j < kLanes; ++j) lane[j] = Element::Of(in[j]);
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j)
      lane[j] = Op::Combine(lane[j], Element::Of(in[i + j]));
  }
  // A copy, which is indexed by variables, so that `lane` stays in registers.
  alignas(64) T rest[kLanes];
  for (int j = 0; j < kLanes; ++j) rest[j] = lane[j];
  for (int j = 0; j < n - i; ++j)
    rest[j] = Op::Combine(rest[j], Element::Of(in[i + j]));
#pragma GCC unroll 8
  for (int w = kLanes / 2; w > 0; w /= 2) {
    for (int j = 0; j < w; ++j) rest[j] = Op::Combine(rest[j], rest[j + w]);
  }
  return rest[0];
}

template <class Op, class Element = Plain, class T>
T FoldRun(const T* in, int64_t n) {
  constexpr int kWide = 256 / sizeof(T);
  constexpr int kNarrow = 8;
  if (n >= 2 * kWide) return FoldLanes<kWide, Op, Element>(in, n);
  if (n >= 2 * kNarrow) return FoldLanes<kNarrow, Op, Element>(in, n);
  T v = Element::Of(in[0]);
  for (int64_t i = 1; i < n; ++i) v = Op::Combine(v, Element::Of(in[i]));
  return v;
}

// Rows of kN elements one behind the other, as FoldRun would: the loop over
// rows vectorizes.
template <int kN, class Op, class Element, class T>
void FoldShortRows(const T* in, int64_t rows, T* out) {
#pragma GCC ivdep
  for (int64_t r = 0; r < rows; ++r) {
    T v = Element::Of(in[r * kN]);
#pragma GCC unroll 8
    for (int i = 1; i < kN; ++i)
      v = Op::Combine(v, Element::Of(in[r * kN + i]));
    out[r] = v;
  }
}

template <class Op, class Element, class T>
struct Loops {
  static void Merge(const void* in, void* acc, int64_t n) {
    const T* a = static_cast<const T*>(in);
    T* b = static_cast<T*>(acc);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) b[i] = Op::Combine(b[i], Element::Of(a[i]));
  }
  static void Fold(const void* in, int64_t row_stride, int64_t n, int64_t rows,
                   void* acc) {
    const char* row = static_cast<const char*>(in);
    T* out = static_cast<T*>(acc);
    if (row_stride == n * static_cast<int64_t>(sizeof(T))) {
      const T* elements = static_cast<const T*>(in);
      switch (n) {
        case 2:
          return FoldShortRows<2, Op, Element>(elements, rows, out);
        case 3:
          return FoldShortRows<3, Op, Element>(elements, rows, out);
        case 4:
          return FoldShortRows<4, Op, Element>(elements, rows, out);
        case 8:
          return FoldShortRows<8, Op, Element>(elements, rows, out);
        default:
          break;
      }
    }
    for (int64_t r = 0; r < rows; ++r, row += row_stride) {
      out[r] = FoldRun<Op, Element>(reinterpret_cast<const T*>(row), n);
    }
  }
  static void Fill(void* acc, int64_t n) {
    T* out = static_cast<T*>(acc);
    const T identity = Op::template Identity<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = identity;
  }
};

}  // namespace reduce_internal

// `Op` has `static T Combine(T, T)` and `static T Identity<T>()`, and may have
// `static T Take(T)`: what an element of x, but no partial result, becomes
// before it is combined.
template <class Op, class T>
constexpr Reduction MakeReduction() {
  using L = reduce_internal::Loops<Op, reduce_internal::Plain, T>;
  if constexpr (requires(T v) { Op::Take(v); }) {
    using E = reduce_internal::Loops<Op, reduce_internal::Taken<Op>, T>;
    return {kDTypeOf<T>, L::Merge, L::Fold, L::Fill, E::Merge, E::Fold};
  } else {
    return {kDTypeOf<T>, L::Merge, L::Fold, L::Fill};
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_REDUCE_H_
