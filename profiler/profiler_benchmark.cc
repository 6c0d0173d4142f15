// What a Range costs where no recording runs, and where one does.
#include <benchmark/benchmark.h>

#include "profiler/events.h"

namespace proa::inline v0::profiler {
namespace {

void BM_RangeOff(benchmark::State& state) {
  for (auto _ : state) {
    Range range("r");
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_RangeOff);

void BM_RangeOn(benchmark::State& state) {
  Start({.events_per_thread = 1 << 20});
  for (auto _ : state) {
    Range range("r");
    benchmark::ClobberMemory();
  }
  Stop();
}
BENCHMARK(BM_RangeOn);

void BM_InstantOn(benchmark::State& state) {
  Start({.events_per_thread = 1 << 20});
  for (auto _ : state) Instant("i");
  Stop();
}
BENCHMARK(BM_InstantOn);

void BM_CounterOff(benchmark::State& state) {
  for (auto _ : state) {
    Counter("c", 1);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_CounterOff);

}  // namespace
}  // namespace proa::inline v0::profiler
