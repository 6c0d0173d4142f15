#include "tensor/generator.h"

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "tensor/error.h"
#include "tensor/execution.h"
#include "tensor/fork_locks.h"

namespace proa::inline v0 {

struct DefaultGenerators {
  DefaultGenerators() {
    HoldWhileForking(mutex);
    HoldWhileForking(cpu.mutex_);
  }

  std::mutex mutex;
  uint64_t seed = Generator::kDefaultSeed;
  Generator cpu;  // without a look-up
  std::map<std::pair<int, int>, std::unique_ptr<Generator>> others;
};

namespace {

DefaultGenerators& TheDefaults() {
  static auto* defaults = new DefaultGenerators;
  return *defaults;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = TheDefaults();

}  // namespace

void Generator::Seed(uint64_t seed) { set_state({seed, 0}); }

uint64_t Generator::SeedFromSystem() {
  std::random_device device;
  const uint64_t seed = uint64_t{device()} << 32 | device();
  Seed(seed);
  return seed;
}

uint64_t Generator::seed() const { return state().seed; }

GeneratorState Generator::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(const GeneratorState& state) {
  std::lock_guard lock(mutex_);
  state_ = state;
}

PhiloxStream Generator::Reserve(int64_t words) {
  PROA_REQUIRE(words >= 0, "generator: cannot reserve ", words, " numbers");
  const uint64_t blocks = (static_cast<uint64_t>(words) + 3) / 4;
  std::lock_guard lock(mutex_);
  const PhiloxStream stream(state_.seed, state_.offset);
  state_.offset += blocks;
  return stream;
}

Generator& DefaultGenerator(Place place) {
  if (place.is_cpu()) {
    const Execution* execution = CurrentExecution();
    if (execution != nullptr && execution->generator != nullptr) {
      return *execution->generator;
    }
  }
  DefaultGenerators& d = TheDefaults();
  if (place.is_cpu()) return d.cpu;
  std::lock_guard lock(d.mutex);
  auto& g = d.others[{static_cast<int>(place.kind), place.index}];
  if (g == nullptr) g = std::make_unique<Generator>(d.seed);
  return *g;
}

void SeedAll(uint64_t seed) {
  DefaultGenerators& d = TheDefaults();
  std::lock_guard lock(d.mutex);
  d.seed = seed;
  d.cpu.Seed(seed);
  for (auto& [place, generator] : d.others) generator->Seed(seed);
}

}  // namespace proa::inline v0
