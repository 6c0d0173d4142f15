// ReadIntegers: lengths and labels, of whatever integer type, as numbers.
#ifndef PROA_OPS_RECURRENT_INTEGERS_H_
#define PROA_OPS_RECURRENT_INTEGERS_H_

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// The elements of an integer tensor; none if it is undefined.
std::vector<int64_t> ReadIntegers(const Tensor& t);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_RECURRENT_INTEGERS_H_
