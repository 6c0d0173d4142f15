// Images as kernels take them: row-major [N, H, W, C], whatever the memory
// order and `data_format` of the tensors that the op was given. A tensor [N, C,
// H, W] that lies channels-last is such an image already. Likewise [N, L, C] of
// [N, C, L], and [N, D, H, W, C] of [N, C, D, H, W].
#ifndef PROA_OPS_NN_IMAGES_H_
#define PROA_OPS_NN_IMAGES_H_

#include <string_view>

#include "ops/nn/window.h"
#include "tensor/memory_order.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// The format with the channels in the last dim: NHWC of NCHW.
std::string_view WithChannelsLast(std::string_view data_format);

// An input as row-major [N, H, W, C]: an alias where that is possible, else a
// copy, which counts as a reorder (ops/onednn/reorders.h).
Tensor ChannelsLastInput(const Tensor& x, std::string_view data_format);

// The same for an output to be written: `out` lies in the order that
// infer::image_order says.
inline Tensor ChannelsLastOutput(const Tensor& out,
                                 std::string_view data_format) {
  return HasChannelsFirst(data_format) ? AsNhwc(out) : out;
}

// Images [first, last) of a batch whose images lie one behind the other.
Tensor ImagesOf(const Tensor& t, int64_t first, int64_t last);

// For kernels that write a batch and change it then: how many images of `t` are
// done together, so that they do not leave the last cache, which is shared, in
// between.
int64_t ImagesTogether(const Tensor& t);

// For kernels that work on either order: their images are taken as they lie.
//
//   const Images images(x, data_format);
//   const Tensor in = images.In(x), out_image = images.Out(*out);
//   ... GeometryOf(in.shape(), images.format())
class Images {
 public:
  // `lead` is the image that the others follow: that of the most pixels. If it
  // lies channels-last, all are taken as [N, H, W, C].
  Images(const Tensor& lead, std::string_view data_format)
      : turned_(HasChannelsFirst(data_format) &&
                OrderOf(lead) == MemoryOrder::kChannelsLast),
        format_(turned_ ? WithChannelsLast(data_format) : data_format) {}

  std::string_view format() const { return format_; }
  // Row-major in `format`; a copy of what lies otherwise, counted as above.
  Tensor In(const Tensor& t) const;
  // An output, which lies as `lead` does.
  Tensor Out(const Tensor& t) const { return turned_ ? AsNhwc(t) : t; }

 private:
  bool turned_;
  std::string_view format_;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_IMAGES_H_
