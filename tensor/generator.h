// Generator: hands out parts of a Philox sequence; the random state of a
// device.
//
//   PhiloxStream stream = DefaultGenerator(place).Reserve(n);
//
// A random op reserves what it needs in one call and then computes each element
// from its index, so the result depends on the seed and the order of calls
// only. Thread-safe.
#ifndef PROA_TENSOR_GENERATOR_H_
#define PROA_TENSOR_GENERATOR_H_

#include <cstdint>
#include <mutex>

#include "tensor/philox.h"
#include "tensor/place.h"

namespace proa::inline v0 {

struct GeneratorState {
  uint64_t seed = 0;
  uint64_t offset = 0;  // blocks of 4 x 32 bits that are used up
  friend bool operator==(const GeneratorState&,
                         const GeneratorState&) = default;
};

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 34342423252;

  explicit Generator(uint64_t seed = kDefaultSeed) : state_{seed, 0} {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Starts the sequence of `seed` from its beginning.
  void Seed(uint64_t seed);
  // A seed from the system's entropy; returns it.
  uint64_t SeedFromSystem();
  uint64_t seed() const;

  GeneratorState state() const;
  void set_state(const GeneratorState& state);

  // The next ceil(words / 4) blocks: enough for `words` >= 0 numbers of 32
  // bits, of which block i / 4 holds the i-th at i % 4. No two calls share a
  // block.
  PhiloxStream Reserve(int64_t words);

 private:
  friend struct DefaultGenerators;

  mutable std::mutex mutex_;
  GeneratorState state_;
};

// One for each device; made at first use, never destroyed.
Generator& DefaultGenerator(Place place);

// Seeds the default generators of all devices, those to come included: device i
// of each kind gets the sequence of `seed`.
void SeedAll(uint64_t seed);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_GENERATOR_H_
