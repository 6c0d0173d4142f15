// How many rows of a list belong to each image, read from a tensor and checked.
#ifndef PROA_OPS_VISION_IMAGE_COUNTS_H_
#define PROA_OPS_VISION_IMAGE_COUNTS_H_

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// The elements of an int32 or int64 tensor.
std::vector<int64_t> Integers(const Tensor& t);

// The elements of `counts`, called `name` in messages: none is negative, and
// they sum to `rows`. Throws Error else.
std::vector<int64_t> ImageCounts(const char* op, const char* name,
                                 const Tensor& counts, int64_t rows);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_VISION_IMAGE_COUNTS_H_
