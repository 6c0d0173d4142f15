// Rules of collectives (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_COLLECTIVE_COLLECTIVE_INFER_H_
#define PROA_OPS_COLLECTIVE_COLLECTIVE_INFER_H_

#include <cstdint>
#include <span>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

Shape gathered(const char* op, const Tensor& x, int64_t ranks);
Shape part_of_rank(const char* op, const Tensor& x, int64_t ranks);
Shape exchanged(const char* op, const Tensor& x,
                std::span<const int64_t> in_splits,
                std::span<const int64_t> out_splits);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_COLLECTIVE_COLLECTIVE_INFER_H_
