// The lines that a scan runs along: a dense tensor is [outer, n, inner] with
// the axis in the middle; without an axis it is one line.
#ifndef PROA_OPS_REDUCTION_SCAN_LINES_H_
#define PROA_OPS_REDUCTION_SCAN_LINES_H_

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

struct ScanLines {
  int64_t outer = 1, n, inner = 1;

  ScanLines(const Tensor& x, std::optional<int64_t> axis) : n(x.numel()) {
    if (!axis.has_value() || x.rank() == 0) return;
    const int a = static_cast<int>(*axis < 0 ? *axis + x.rank() : *axis);
    n = x.size(a);
    for (int d = 0; d < a; ++d) outer *= x.size(d);
    for (int d = a + 1; d < x.rank(); ++d) inner *= x.size(d);
  }
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_REDUCTION_SCAN_LINES_H_
