// PhiloxVectors: the random words of a PhiloxStream (tensor/philox.h) in
// vectors, for sources that are compiled once per instruction set. The same
// words as PhiloxStream::Block gives, many times as fast.
#ifndef PROA_OPS_PRIMITIVES_CPU_PHILOX_WORDS_H_
#define PROA_OPS_PRIMITIVES_CPU_PHILOX_WORDS_H_

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "ops/primitives/host_device.h"
#include "tensor/philox.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace philox_internal {

// Blocks are computed side by side, one in each 64-bit lane of a vector; only
// the lower half of a lane counts. The multiplication of such halves is one
// instruction, which gcc does not find by itself.
#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif
typedef uint64_t Lanes __attribute__((vector_size(8 * kLanes)));

PROA_HD Lanes Multiply(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(_mm512_maskz_mul_epu32(
      0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes>(_mm256_mul_epu32(
      reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Lanes>(_mm_mul_epu32(reinterpret_cast<__m128i>(a),
                                               reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

// Of each pair of lanes the first ones, a's then b's; and the second ones.
PROA_HD Lanes FirstOfPairs(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(_mm512_maskz_unpacklo_epi64(
      0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes>(_mm256_unpacklo_epi64(
      reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return Lanes{a[0], b[0]};
#endif
}
PROA_HD Lanes SecondOfPairs(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(_mm512_maskz_unpackhi_epi64(
      0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes>(_mm256_unpackhi_epi64(
      reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return Lanes{a[1], b[1]};
#endif
}

}  // namespace philox_internal

// Words come in multiples of this.
inline constexpr int64_t kPhiloxStep = 128;

// Words of a stream. Made once for many calls: it holds the keys of the rounds.
class PhiloxVectors {
 public:
  explicit PhiloxVectors(const PhiloxStream& stream) : first_(stream.offset()) {
    uint32_t k0 = static_cast<uint32_t>(stream.seed());
    uint32_t k1 = static_cast<uint32_t>(stream.seed() >> 32);
    for (auto& key : keys_) {
      key[0] = Lanes{} + k0;
      key[1] = Lanes{} + k1;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }

  // Words [4 * block, 4 * block + n); n is a multiple of kPhiloxStep.
  void Words(uint64_t block, int64_t n, uint32_t* words) const {
    using namespace philox_internal;  // NOLINT
    // Chains need not wait for one another. A core does not look ahead so far
    // that two more could begin before ten rounds of two end: four, where there
    // are registers for them.
    constexpr int kChains = kLanes == 8 ? 4 : 2;
    // The two halves of a result are unpacked from even and odd lanes.
    Lanes index;
    for (int l = 0; l < kLanes; ++l) {
      index[l] = static_cast<uint64_t>(l / 2 + l % 2 * (kLanes / 2));
    }
    const Lanes low = Lanes{} + 0xffffffffu;
    const Lanes a = Lanes{} + 0xD2511F53u, b = Lanes{} + 0xCD9E8D57u;
    static_assert(kPhiloxStep % (kChains * kLanes * 4) == 0);
    for (int64_t i = 0; i < n; i += kChains * kLanes * 4) {
      Lanes c0[kChains], c1[kChains], c2[kChains], c3[kChains];
      for (int k = 0; k < kChains; ++k) {
        c0[k] = index +
                (first_ + block + static_cast<uint64_t>(i / 4 + k * kLanes));
        c1[k] = c0[k] >> 32;
        c2[k] = c3[k] = Lanes{};
      }
#pragma GCC unroll 10
      for (const auto& key : keys_) {
#pragma GCC unroll 4
        for (int k = 0; k < kChains; ++k) {
          const Lanes x = Multiply(c0[k], a), y = Multiply(c2[k], b);
          c0[k] = (y >> 32) ^ c1[k] ^ key[0];
          c1[k] = y;
          c2[k] = (x >> 32) ^ c3[k] ^ key[1];
          c3[k] = x;
        }
      }
      for (int k = 0; k < kChains; ++k) {
        const Lanes first = (c0[k] & low) | c1[k] << 32;
        const Lanes second = (c2[k] & low) | c3[k] << 32;
        const Lanes pairs[2] = {FirstOfPairs(first, second),
                                SecondOfPairs(first, second)};
        std::memcpy(words + i + k * kLanes * 4, pairs, sizeof(pairs));
      }
    }
  }

 private:
  using Lanes = philox_internal::Lanes;

  uint64_t first_;
  Lanes keys_[10][2];
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_PHILOX_WORDS_H_
