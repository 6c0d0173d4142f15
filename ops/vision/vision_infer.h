// Rules of regions of images (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_VISION_VISION_INFER_H_
#define PROA_OPS_VISION_VISION_INFER_H_

#include <cstdint>

#include "ops/int_array.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// [regions, C, height, width].
Shape regions(const char* op, const Tensor& x, const Tensor& boxes,
              const Tensor& boxes_num, int64_t height, int64_t width,
              int64_t sampling_ratio);
// The given shape of images, of which dy has the regions.
Shape regions_grad(const char* op, const Tensor& dy, const Tensor& boxes,
                   const Tensor& boxes_num, const IntArray& shape,
                   int64_t sampling_ratio);
// [regions, channels, height, width] of channels * height * width channels.
Shape part_regions(const char* op, const Tensor& x, const Tensor& boxes,
                   const Tensor& boxes_num, int64_t height, int64_t width,
                   int64_t channels);
Shape part_regions_grad(const char* op, const Tensor& dy, const Tensor& boxes,
                        const Tensor& boxes_num, const IntArray& shape);
// The shape of argmax, places in the planes of x; and back.
Shape chosen(const char* op, const Tensor& x, const Tensor& argmax,
             const Tensor& boxes_num);
Shape chosen_grad(const char* op, const Tensor& dy, const Tensor& argmax,
                  const Tensor& boxes_num, const IntArray& shape);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_VISION_VISION_INFER_H_
