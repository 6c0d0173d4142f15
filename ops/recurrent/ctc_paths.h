// CtcPaths: the labels of a batch as paths, blank a blank b blank, checked.
#ifndef PROA_OPS_RECURRENT_CTC_PATHS_H_
#define PROA_OPS_RECURRENT_CTC_PATHS_H_

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

struct CtcPath {
  int64_t steps = 0;             // of the input
  std::vector<int64_t> classes;  // of the 2 length + 1 places
  // Whether so many steps are enough: one for each label, and one for the blank
  // between equal neighbours.
  bool possible = false;
};

// One for each sample of logits [T, N, C]. Throws Error for a length or a label
// that is out of range; labels beyond their length are not looked at.
std::vector<CtcPath> CtcPaths(const char* op, const Tensor& logits,
                              const Tensor& labels, const Tensor& input_lengths,
                              const Tensor& label_lengths, int64_t blank);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_RECURRENT_CTC_PATHS_H_
