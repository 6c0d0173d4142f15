#include "ops/nn/images.h"

#include "ops/onednn/reorders.h"

namespace proa::inline v0::ops {
namespace {

Tensor Ordered(const Tensor& x, MemoryOrder order) {
  Tensor y = InOrder(x, order);
  if (x.rank() == 4 && !y.is_same(x)) onednn::CountReorder(false);
  return y;
}

}  // namespace

Tensor NhwcInput(const Tensor& x, std::string_view data_format) {
  if (data_format != "NCHW") return Ordered(x, MemoryOrder::kRowMajor);
  return AsNhwc(Ordered(x, MemoryOrder::kChannelsLast));
}

Tensor Images::In(const Tensor& t) const {
  return nhwc_ ? NhwcInput(t, "NCHW") : Ordered(t, MemoryOrder::kRowMajor);
}

}  // namespace proa::inline v0::ops
