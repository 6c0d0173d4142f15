// Sequences of models of 1.x: rows one after another, and tensors of lengths
// beside them, which handles of predictors say by their LoD. Internal to
// predictors.
#ifndef PROA_INFERENCE_SEQUENCES_H_
#define PROA_INFERENCE_SEQUENCES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::inference {

// An input or result that holds the lengths of sequences.
struct Lengths {
  size_t at;     // its place
  size_t of;     // the place of what has the sequences
  size_t level;  // 0: the outermost
};

// "words@LENGTHS0" are those of level 0 of "words" among `names`, where `of`
// names what may have sequences, by place.
std::vector<Lengths> FindLengths(const std::vector<std::string>& names,
                                 const std::vector<std::string>& of);

// int64 [n - 1] of n ends {0, 2, 5}, and back. Throws Error where they fall, or
// do not begin with 0.
proa::Tensor LengthsOfEnds(const std::vector<size_t>& ends);
std::vector<size_t> EndsOfLengths(const proa::Tensor& lengths);

}  // namespace proa::inline v0::inference

#endif  // PROA_INFERENCE_SEQUENCES_H_
