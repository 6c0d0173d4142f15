// Compressed rows: the rows of a matrix, or of each matrix of a batch, as CSR
// tensors give them. `crows` has rows + 1 numbers for each matrix, which rise
// from 0 to the count of its elements; `cols` the column of each element.
#ifndef PROA_OPS_SPARSE_COMPRESSED_H_
#define PROA_OPS_SPARSE_COMPRESSED_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ops/primitives/cpu/gather.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

class Compressed {
 public:
  // `shape` is [rows, columns] or [batch, rows, columns]. Throws Error for
  // crows that fall or do not come to the number of cols, and kOutOfRange for a
  // column outside.
  Compressed(const char* op, const Tensor& crows, const Tensor& cols,
             const Shape& shape);

  int64_t batch() const { return batch_; }
  // Of one matrix.
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // The elements of row r of the batch * rows() are those from starts()[r] to
  // starts()[r + 1].
  std::span<const int64_t> starts() const { return starts_; }
  std::span<const int64_t> cols() const { return cols_.values(); }

 private:
  int64_t batch_, rows_, columns_;
  IndexList cols_;
  std::vector<int64_t> starts_;
};

// The same elements by columns: starts of each of the batch * columns() ones,
// the row of each element, and the number that it has by rows. Elements of a
// column are in the order of rows.
struct ByColumns {
  explicit ByColumns(const Compressed& x);
  std::vector<int64_t> starts, rows, numbers;
};

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_SPARSE_COMPRESSED_H_
