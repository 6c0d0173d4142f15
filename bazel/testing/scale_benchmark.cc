#include <vector>

#include "bazel/testing/scale.h"
#include "benchmark/benchmark.h"

namespace proa {
namespace {

void Scale(benchmark::State& state) {
  const std::vector<float> x(state.range(0), 1.0f);
  for (auto _ : state) benchmark::DoNotOptimize(isa::sse2::Scale(x, 2, 1));
}
BENCHMARK(Scale)->Arg(1024);

}  // namespace
}  // namespace proa
