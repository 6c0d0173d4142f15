// What the flight recorder, which is always on, takes of each call. The target
// is 100 ns for an entry: its beginning and its end.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "distributed/flight_recorder.h"
#include "ops/collective/collective.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::distributed {
namespace {

void BM_Entry(benchmark::State& state) {
  const Tensor x = Tensor::Empty({64, 3, 224, 224}, DType::kFloat32);
  const CollectiveCall call{.kind = Collective::kAllReduce, .in = x, .out = x};
  const CallHeader header = HeaderOf(call, 1, "train.py:91");
  FlightRecorder recorder;
  uint64_t sequence = 0;
  for (auto _ : state) {
    CallHeader own = header;
    own.sequence = ++sequence;
    recorder.Begin(own);
    recorder.End(sequence, false);
  }
}
BENCHMARK(BM_Entry);

}  // namespace
}  // namespace proa::distributed
