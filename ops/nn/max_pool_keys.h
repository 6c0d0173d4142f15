// How max pooling compares. Compiled once for each instruction set.
#ifndef PROA_OPS_NN_MAX_POOL_KEYS_H_
#define PROA_OPS_NN_MAX_POOL_KEYS_H_

#include <bit>
#include <cstdint>
#include <limits>

namespace proa::inline v0::ops::PROA_ISA {

// Floats as integers of the same order, since integers compare without NaN: -0
// below +0, NaN above all. Both ways.
template <typename A>
struct Key;
template <>
struct Key<float> {
  using type = int32_t;
};
template <>
struct Key<double> {
  using type = int64_t;
};

template <typename K>
inline K Flip(K bits) {
  return bits ^ ((bits >> (8 * sizeof(K) - 1)) & std::numeric_limits<K>::max());
}
template <typename A>
inline typename Key<A>::type KeyOf(A v) {
  using K = typename Key<A>::type;
  return v != v ? std::numeric_limits<K>::max() : Flip(std::bit_cast<K>(v));
}
template <typename A, typename K>
inline A ValueOf(K key) {
  return std::bit_cast<A>(Flip(key));
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_MAX_POOL_KEYS_H_
