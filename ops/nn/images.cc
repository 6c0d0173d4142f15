#include "ops/nn/images.h"

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

Tensor Images::In(const Tensor& t) const {
  return turned_ ? AsNhwc(Ordered(t, MemoryOrder::kChannelsLast))
                 : Ordered(t, MemoryOrder::kRowMajor);
}

}  // namespace proa::inline v0::ops
