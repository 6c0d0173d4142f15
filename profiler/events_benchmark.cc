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
  Start({.events_per_thread = 1 << 16});
  for (auto _ : state) {
    Range range("r");
    benchmark::ClobberMemory();
  }
  Stop();
}
BENCHMARK(BM_RangeOn)->Iterations(1 << 16);

}  // namespace
}  // namespace proa::inline v0::profiler
