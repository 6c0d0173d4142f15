// Rules of frames of signals (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_SIGNAL_SIGNAL_INFER_H_
#define PROA_OPS_SIGNAL_SIGNAL_INFER_H_

#include <cstdint>

#include "ops/int_array.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

Shape frame(const char* op, const Tensor& x, int64_t frame_length,
            int64_t hop_length, int64_t axis);
Shape overlap_add(const char* op, const Tensor& x, int64_t hop_length,
                  int64_t axis);
Shape overlap_into(const char* op, const Tensor& x, const IntArray& shape,
                   int64_t hop_length, int64_t axis);
Shape frames_of(const char* op, const Tensor& x, const IntArray& shape,
                int64_t hop_length, int64_t axis);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_SIGNAL_SIGNAL_INFER_H_
