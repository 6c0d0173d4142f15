// Region: which elements of a contiguous tensor a view of it shows.
#ifndef PROA_AUTOGRAD_REGION_H_
#define PROA_AUTOGRAD_REGION_H_

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace proa::inline v0::autograd {

// In elements of `dtype`, which is that of the whole tensor, or the real type
// of its complex one (as_real).
struct Region {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
  DType dtype = DType::kFloat32;
};

}  // namespace proa::inline v0::autograd

#endif  // PROA_AUTOGRAD_REGION_H_
