// Philox4x32-10: 128 random bits as a pure function of a key and a counter; and
// the conversions to numbers. Any element of a random tensor can be computed
// alone, so the same seed gives the same tensor however threads share the work.
//
//   PhiloxStream stream(seed, offset);           // from Generator::Reserve
//   std::array<uint32_t, 4> r = stream.Block(i / 4);
//   float u = UniformFloat(r[i % 4]);
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
// 2, 3", SC 2011. All constexpr, and so usable in device code.
#ifndef PROA_TENSOR_PHILOX_H_
#define PROA_TENSOR_PHILOX_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace proa::inline v0 {

constexpr std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// The blocks from `offset` on of the sequence of `seed`.
class PhiloxStream {
 public:
  constexpr PhiloxStream(uint64_t seed, uint64_t offset)
      : seed_(seed), offset_(offset) {}
  constexpr std::array<uint32_t, 4> Block(uint64_t i) const {
    const uint64_t n = offset_ + i;
    return Philox4x32(
        {static_cast<uint32_t>(n), static_cast<uint32_t>(n >> 32), 0, 0},
        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
  }
  constexpr uint64_t seed() const { return seed_; }
  constexpr uint64_t offset() const { return offset_; }

 private:
  uint64_t seed_;
  uint64_t offset_;
};

// [0, 1), a multiple of 2^-24: the upper 24 bits.
constexpr float UniformFloat(uint32_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 8)) * 0x1p-24f;
}

// [0, 1), a multiple of 2^-53: the upper 53 of 64 bits.
constexpr double UniformDouble(uint32_t high, uint32_t low) {
  const uint64_t bits = uint64_t{high} << 32 | low;
  return static_cast<double>(static_cast<int64_t>(bits >> 11)) * 0x1p-53;
}

// [0, range), range > 0: the upper half of bits * range. Each value is off its
// fair share by at most range / 2^64.
constexpr uint64_t UniformInt(uint32_t high, uint32_t low, uint64_t range) {
  const uint64_t bits = uint64_t{high} << 32 | low;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * range) >>
                               64);
}

// Two independent numbers of the standard normal distribution from two uniform
// ones (Box and Muller, 1958): sqrt(-2 ln u) times cos and sin of 2 pi v, with
// u in (0, 1] and v in [0, 1). The float form reaches 6.66 sigma, the double
// form 8.57.
inline std::pair<float, float> NormalFloat(uint32_t a, uint32_t b) {
  const float u = (static_cast<float>(a) + 1.0f) * 0x1p-32f;
  const float angle = UniformFloat(b) * 6.2831853071795865f;
  // u rounds to 1 at most, where the radius is 0.
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}
inline std::pair<double, double> NormalDouble(
    const std::array<uint32_t, 4>& r) {
  const double u = UniformDouble(r[0], r[1]) + 0x1p-53;
  const double angle = UniformDouble(r[2], r[3]) * 6.2831853071795865;
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_PHILOX_H_
