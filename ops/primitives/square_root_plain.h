// The vectors of square_root.h where the compiler's loop is as fast: none.
#ifndef PROA_OPS_PRIMITIVES_SQUARE_ROOT_PLAIN_H_
#define PROA_OPS_PRIMITIVES_SQUARE_ROOT_PLAIN_H_

#include <cstdint>

#include "ops/primitives/host_device.h"

namespace proa::inline v0::ops::square_root {

template <class T>
PROA_HD int64_t Vectors(const T*, T*, int64_t) {
  return 0;
}

}  // namespace proa::inline v0::ops::square_root

#endif  // PROA_OPS_PRIMITIVES_SQUARE_ROOT_PLAIN_H_
