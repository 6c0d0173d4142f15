// Rows written by index on a GPU: the adjoints of gather.h, and puts.
//
// Where an index names a row more than once, the result is that of the order of
// the index, the same bits at each run: positions are sorted by row, and each
// row is written from one place. No float atomics.
#ifndef PROA_OPS_PRIMITIVES_CUDA_SCATTER_H_
#define PROA_OPS_PRIMITIVES_CUDA_SCATTER_H_

#include <cstdint>
#include <optional>

#include "ops/kernel.h"
#include "ops/primitives/cuda/index.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops::cuda {

// The positions of an index in rising order of the rows that they name, those
// of one row in theirs; positions without a row come last, with row n.
class SortedRows {
 public:
  // `distinct` if no row is named twice: then nothing is sorted. Throws Error
  // for 2^31 positions or 2^32 - 1 rows and more.
  SortedRows(const KernelContext& ctx, const RowIndex& index,
             bool distinct = false);

  const uint32_t* rows() const { return rows_; }
  const int32_t* positions() const { return positions_; }
  int64_t count() const { return count_; }
  int64_t n() const { return n_; }

 private:
  int64_t count_, n_;
  std::optional<Workspace> memory_;
  uint32_t* rows_ = nullptr;
  int32_t* positions_ = nullptr;
};

// out[o, index[k]] = src[o, k], the last k of a row; zeros if `src` is null.
void ScatterRows(const KernelContext& ctx, int64_t outer, int64_t row_bytes,
                 const SortedRows& index, const void* src, void* out);

// out[o, index[k]] += src[o, k], `inner` elements each. 16-bit floats are added
// up in float32 and rounded once, integers wrap, bools are or-ed. Sums of many
// rows are made in parts, which are added in their order.
void ScatterAddRows(const KernelContext& ctx, DType dtype, int64_t outer,
                    int64_t inner, const SortedRows& index, const void* src,
                    void* out);
// out[o, index[k]] *= src[o, k], likewise; not for complex numbers.
void ScatterMulRows(const KernelContext& ctx, DType dtype, int64_t outer,
                    int64_t inner, const SortedRows& index, const void* src,
                    void* out);

// list[k] = index[k] where no later k has the same one, else -1: where
// ScatterRows takes its rows from.
void LastWriters(const KernelContext& ctx, const SortedRows& index,
                 int64_t* list);

}  // namespace proa::inline v0::ops::cuda

#endif  // PROA_OPS_PRIMITIVES_CUDA_SCATTER_H_
