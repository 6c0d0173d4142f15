// ScanInPlace: running sums (products, ...) along the middle dim of a contiguous
// array [outer, n, inner]. Lines are independent and each is run in order, so the
// result does not depend on threads.
//
// For sources that are compiled once per instruction set.
#ifndef PROA_OPS_PRIMITIVES_CPU_SCAN_H_
#define PROA_OPS_PRIMITIVES_CPU_SCAN_H_

#include <algorithm>
#include <cstdint>

#include "ops/primitives/cpu/elementwise.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {

// data[o, i, j] = Op::Combine(data[o, i - 1, j], data[o, i, j]) for i = 1, 2, ...
template <class Op, class T>
void ScanInPlace(T* data, int64_t outer, int64_t n, int64_t inner) {
  // Neighbouring lines are run side by side, as rows of at most kStrip.
  constexpr int64_t kStrip = 512;
  const int64_t strips = (inner + kStrip - 1) / kStrip;
  const int64_t work = std::max<int64_t>(1, n * std::min(inner, kStrip));
  parallel_for(
      0, outer * strips, std::max<int64_t>(1, kSerialCost / work),
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t column = task % strips * kStrip;
          const int64_t width = std::min(kStrip, inner - column);
          T* row = data + task / strips * n * inner + column;
          for (int64_t i = 1; i < n; ++i, row += inner) {
            T* next = row + inner;
#pragma GCC ivdep
            for (int64_t j = 0; j < width; ++j) {
              next[j] = Op::Combine(row[j], next[j]);
            }
          }
        }
      });
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_SCAN_H_
