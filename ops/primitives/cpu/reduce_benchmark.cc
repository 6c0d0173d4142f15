// Reductions beside memcpy: GB/s of the bytes read, at one size in the caches
// and one far beyond (64 MiB), for the shapes in which reductions come. For
// memcpy, which moves each byte twice, both directions count.
//   bazel run -c opt //ops/primitives/cpu:reduce_benchmark
#include <cstring>
#include <vector>

#include "benchmark/benchmark.h"
#include "ops/primitives/cpu/testing_kernels.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

Tensor Filled(const Shape& shape, DType dtype = DType::kFloat32) {
  Tensor t = Tensor::Empty(shape, dtype);
  std::memset(t.raw_data(), 0, t.bytes());
  return t;
}

void Rate(benchmark::State& state, int64_t bytes) {
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(bytes) * state.iterations() / 1e9,
                         benchmark::Counter::kIsRate);
}

void Memcpy(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n}), out = Filled({n});
  for (auto _ : state) {
    parallel_for(0, n, 65536, [&](int64_t b, int64_t e) {
      std::memcpy(out.data<float>() + b, x.data<float>() + b, 4 * (e - b));
    });
  }
  Rate(state, 8 * n);
}

void Sum(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n});
  const TestingKernels k = AllTestingKernels().back();
  float acc;
  for (auto _ : state) k.sum(x, 1, &acc);
  Rate(state, 4 * n);
}

// Of [n / columns, columns] over the rows (axis 0) or the columns (axis 1).
void SumAxis(benchmark::State& state) {
  const int64_t n = state.range(0) << 18, columns = state.range(1);
  const Tensor x = Filled({n / columns, columns});
  std::vector<float> acc(state.range(2) == 0 ? columns : n / columns);
  const TestingKernels k = AllTestingKernels().back();
  for (auto _ : state) k.sum(x, uint64_t{1} << state.range(2), acc.data());
  Rate(state, 4 * n);
}

void SumHalf(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n}, DType::kFloat16);
  const TestingKernels k = AllTestingKernels().back();
  float acc;
  for (auto _ : state) k.sum(x, 1, &acc);
  Rate(state, 2 * n);
}

void Max(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n});
  const TestingKernels k = AllTestingKernels().back();
  float acc;
  for (auto _ : state) k.max(x, 1, &acc);
  Rate(state, 4 * n);
}

void SumOfFour(benchmark::State& state) {
  const Tensor x = Filled({4});
  const TestingKernels k = AllTestingKernels().back();
  float acc;
  for (auto _ : state) k.sum(x, 1, &acc);
}

BENCHMARK(Memcpy)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(Sum)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(SumAxis)
    ->ArgsProduct({{1, 64}, {4, 32, 512, 65536}, {0, 1}})
    ->UseRealTime();
BENCHMARK(SumHalf)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(Max)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(SumOfFour);

}  // namespace
}  // namespace proa::inline v0::ops
