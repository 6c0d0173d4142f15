// SequenceRows: the steps of sequences of different lengths, packed: the rows
// of the first step, of all samples that have one, then those of the second,
// ...
//
// Samples are taken in the order of falling lengths, so that those that still
// run at a step are the first ones: a step is a dense matrix without gaps, and
// what lies beyond a length is never looked at.
#ifndef PROA_OPS_RECURRENT_SEQUENCE_ROWS_H_
#define PROA_OPS_RECURRENT_SEQUENCE_ROWS_H_

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

class SequenceRows {
 public:
  // lengths: integers [batch], or undefined where all have `steps`. Throws
  // Error for one that is not in [0, steps].
  SequenceRows(const char* op, int64_t steps, int64_t batch,
               const Tensor& lengths);

  int64_t steps() const { return static_cast<int64_t>(running_.size()); }
  int64_t batch() const { return static_cast<int64_t>(order_.size()); }
  // Rows of all steps, of one, and before one.
  int64_t rows() const { return rows_; }
  int64_t running(int64_t step) const { return running_[step]; }
  int64_t first(int64_t step) const { return first_[step]; }
  // Which sample is the i-th.
  int64_t sample(int64_t i) const { return order_[i]; }
  // Whether row i is row i of a tensor [T, N, ...].
  bool is_dense() const { return dense_; }
  // Where each row lies in a tensor [N, T, ...] or [T, N, ...], in rows.
  std::vector<int64_t> Places(bool time_major) const;

 private:
  std::vector<int64_t> order_, running_, first_;
  int64_t rows_ = 0;
  bool dense_ = true;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_RECURRENT_SEQUENCE_ROWS_H_
