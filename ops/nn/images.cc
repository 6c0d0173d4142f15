#include "ops/nn/images.h"

#include <algorithm>

#include "ops/onednn/reorders.h"

namespace proa::inline v0::ops {
namespace {

Tensor Ordered(const Tensor& x, MemoryOrder order) {
  Tensor y = InOrder(x, order);
  if (x.rank() >= 3 && !y.is_same(x)) onednn::CountReorder(false);
  return y;
}

}  // namespace

std::string_view WithChannelsLast(std::string_view data_format) {
  if (data_format == "NCL") return "NLC";
  if (data_format == "NCHW") return "NHWC";
  if (data_format == "NCDHW") return "NDHWC";
  return data_format;
}

Tensor ChannelsLastInput(const Tensor& x, std::string_view data_format) {
  if (!HasChannelsFirst(data_format)) return Ordered(x, MemoryOrder::kRowMajor);
  return AsNhwc(Ordered(x, MemoryOrder::kChannelsLast));
}

Tensor ImagesOf(const Tensor& t, int64_t first, int64_t last) {
  Shape shape = t.shape();
  shape[0] = last - first;
  return t.AsStrided(shape, t.strides(), first * (t.numel() / t.size(0)));
}

int64_t ImagesTogether(const Tensor& t) {
  constexpr int64_t kBytes = int64_t{4} << 20;
  const int64_t image = t.bytes() / t.size(0);
  return std::clamp<int64_t>(kBytes / std::max<int64_t>(image, 1), 1,
                             t.size(0));
}

Tensor Images::In(const Tensor& t) const {
  return turned_ ? AsNhwc(Ordered(t, MemoryOrder::kChannelsLast))
                 : Ordered(t, MemoryOrder::kRowMajor);
}

}  // namespace proa::inline v0::ops
