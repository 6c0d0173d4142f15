// Gather and scatter of rows: the data movement under gather, index_select,
// embedding, index_get and their adjoints.
//
// Operands are contiguous [outer, n, inner]; a row is the `inner` elements at
// (o, i). Indices come as an IndexList, which has been checked once, so the
// loops trust them. Results are the same bits for any number of threads: work
// is cut by destination (or along inner), so each element is written by one
// thread, in the order of the indices. No atomics.
#ifndef PROA_OPS_PRIMITIVES_CPU_GATHER_H_
#define PROA_OPS_PRIMITIVES_CPU_GATHER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

// The elements of an integer tensor as int64 in [0, n), the memory of the
// tensor itself where that is so already.
class IndexList {
 public:
  // `index` is int32 or int64 and contiguous. Negative values count from the
  // end if `negative` is set. Throws Error kOutOfRange that names the first bad
  // value, its position and the valid range: "<op>: index 7 at [1, 2] is out of
  // range for dim 0 of size 5; valid are -5 to 4".
  IndexList(const char* op, const Tensor& index, int64_t n, int dim,
            bool negative = true);
  // Values that are known to be good.
  explicit IndexList(std::vector<int64_t> values)
      : buffer_(std::move(values)), values_(buffer_) {}
  IndexList(const IndexList&) = delete;
  IndexList& operator=(const IndexList&) = delete;

  std::span<const int64_t> values() const { return values_; }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  int64_t operator[](int64_t i) const { return values_[i]; }

 private:
  std::vector<int64_t> buffer_;
  std::span<const int64_t> values_;
};

// The error of IndexList, for kernels that look at indices themselves.
// `position` is the flat position in a tensor of shape `shape`.
[[noreturn]] void FailIndex(const char* op, int64_t value, int64_t position,
                            const Shape& shape, int64_t n, int dim,
                            bool negative);

// out[o, k] = x[o, index[k]], rows of `row_bytes` bytes; out is [outer, count,
// ...].
void GatherRows(int64_t outer, int64_t n, int64_t row_bytes,
                std::span<const int64_t> index, const void* x, void* out);

// out[o, index[k]] = src[o, k]; of several k with one index the last wins.
void ScatterRows(int64_t outer, int64_t n, int64_t row_bytes,
                 std::span<const int64_t> index, const void* src, void* out);

// out[o, index[k]] += src[o, k], added in the order of k; 16-bit floats are
// added up in float32 and rounded once, bools are or-ed. `inner` in elements.
void ScatterAddRows(DType dtype, int64_t outer, int64_t n, int64_t inner,
                    std::span<const int64_t> index, const void* src, void* out);
// out[o, index[k]] *= src[o, k], likewise.
void ScatterMulRows(DType dtype, int64_t outer, int64_t n, int64_t inner,
                    std::span<const int64_t> index, const void* src, void* out);

// For each k: no later k has the same index. Where an overwriting scatter takes
// its values from, and so where their gradient goes.
std::vector<bool> LastWriters(std::span<const int64_t> index, int64_t n);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_PRIMITIVES_CPU_GATHER_H_
