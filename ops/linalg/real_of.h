// The real type of a real or complex one.
#ifndef PROA_OPS_LINALG_REAL_OF_H_
#define PROA_OPS_LINALG_REAL_OF_H_

#include <complex>

namespace proa::inline v0::ops {

template <typename T>
struct RealTypeOf {
  using type = T;
};
template <typename T>
struct RealTypeOf<std::complex<T>> {
  using type = T;
};
template <typename T>
using RealOf = typename RealTypeOf<T>::type;

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_REAL_OF_H_
