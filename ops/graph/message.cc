// Composite of message.yaml: an op for each kind of gradient.
#include <string>

#include "ops/front_door.h"
#include "ops/graph/message_ops.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

Tensor GraphSendRecv(const Tensor& x, const Tensor& src_index,
                     const Tensor& dst_index, std::string_view pool_type,
                     const IntArray& out_size) {
  if (pool_type == "sum" || pool_type == "mean") {
    return graph_sum(x, src_index, dst_index, out_size, pool_type == "mean");
  }
  PROA_REQUIRE(pool_type == "max" || pool_type == "min",
               "graph_send_recv: pool_type is '", pool_type,
               "'; it must be 'sum', 'mean', 'max' or 'min'");
  return graph_extreme(x, src_index, dst_index, out_size, pool_type == "max");
}

}  // namespace proa::inline v0::ops
