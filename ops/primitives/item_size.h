// VisitItemSize: copies of elements do not depend on what the elements mean, so
// that one instance for each size of an element serves all dtypes.
//
//   VisitItemSize(ItemSize(t.dtype()), [&]<typename T>(T) {
//     Copy(t.data<T>(), ...);  // T: unsigned integers, Item16
//   });
#ifndef PROA_OPS_PRIMITIVES_ITEM_SIZE_H_
#define PROA_OPS_PRIMITIVES_ITEM_SIZE_H_

#include <cstdint>

namespace proa::inline v0::ops {

// complex128
struct Item16 {
  uint64_t half[2];
};

// Calls f(T()) with the T of that size: 1, 2, 4, 8 or 16.
template <typename F>
void VisitItemSize(int64_t item_size, F f) {
  switch (item_size) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    case 8:
      return f(uint64_t());
    default:
      return f(Item16());
  }
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_PRIMITIVES_ITEM_SIZE_H_
