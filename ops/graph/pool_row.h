// The loops of pooling.h over one row of the result, compiled for each
// instruction set.
#ifndef PROA_OPS_GRAPH_POOL_ROW_H_
#define PROA_OPS_GRAPH_POOL_ROW_H_

#include <cstdint>

#include "tensor/dtype.h"

namespace proa::inline v0::ops {

enum class Pool { kSum, kMean, kMax, kMin };

// Elements [begin, end) of a row of the result, from those of `count` >= 1 rows
// of x, which are `inner` elements long.
struct PooledRow {
  Pool pool;
  const void* x;
  const int64_t* rows;  // which rows of x; null: from `first` on
  int64_t first, count;
  int64_t inner, begin, end;
  void* out;  // the row
};

// Elements of a row that a call may be asked for.
inline constexpr int64_t kMostPooled = 256;

using PoolRowFunction = void (*)(const PooledRow&);

// PoolRowFor: null where a dtype has none (bool, complex).
#define PROA_DECLARE_POOL_ROW(isa)         \
  namespace isa {                          \
  PoolRowFunction PoolRowFor(DType dtype); \
  }
PROA_DECLARE_POOL_ROW(sse2)
PROA_DECLARE_POOL_ROW(avx2)
PROA_DECLARE_POOL_ROW(avx512)
#undef PROA_DECLARE_POOL_ROW

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_GRAPH_POOL_ROW_H_
