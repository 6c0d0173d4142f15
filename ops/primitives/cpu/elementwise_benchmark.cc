// Elementwise kernels beside memcpy: GB/s of all bytes read and written, at one
// size in the caches and one far beyond (64 MiB a tensor), and the time of a
// small call.
//   bazel run -c opt //ops/primitives/cpu:elementwise_benchmark
#include <cstring>
#include <functional>

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

// Runs `call` and reports bytes a second.
void Measure(benchmark::State& state, int64_t bytes,
             const std::function<void()>& call) {
  for (auto _ : state) call();
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(bytes) * state.iterations() / 1e9,
                         benchmark::Counter::kIsRate);
}

void Memcpy(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n}), out = Filled({n});
  Measure(state, 8 * n, [&] {
    parallel_for(0, n, 65536, [&](int64_t b, int64_t e) {
      std::memcpy(out.data<float>() + b, x.data<float>() + b, 4 * (e - b));
    });
  });
}

void Add(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n}), y = Filled({n});
  Tensor out = Filled({n});
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 12 * n, [&] { k.add(x, y, &out); });
}

void AddInPlace(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  Tensor x = Filled({n});
  const Tensor y = Filled({n});
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 12 * n, [&] { k.add(x, y, &x); });
}

void AddScalar(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n}), y = Filled({});
  Tensor out = Filled({n});
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 8 * n, [&] { k.add(x, y, &out); });
}

void AddRow(benchmark::State& state) {
  const int64_t n = state.range(0) << 18, columns = state.range(1);
  const Tensor x = Filled({n / columns, columns}), y = Filled({columns});
  Tensor out = Filled(x.shape());
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 8 * n, [&] { k.add(x, y, &out); });
}

void AddColumn(benchmark::State& state) {
  const int64_t n = state.range(0) << 18, columns = state.range(1);
  const Tensor x = Filled({n / columns, columns}), y = Filled({n / columns, 1});
  Tensor out = Filled(x.shape());
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 8 * n, [&] { k.add(x, y, &out); });
}

void AddTransposed(benchmark::State& state) {
  const int64_t side = state.range(0);
  const Tensor x = Filled({side, side}), y = Filled({side, side});
  const Tensor turned = x.AsStrided({side, side}, {1, side}, 0);
  Tensor out = Filled({side, side});
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 12 * side * side, [&] { k.add(turned, y, &out); });
}

void AddHalf(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n}, DType::kFloat16),
               y = Filled({n}, DType::kFloat16);
  Tensor out = Filled({n}, DType::kFloat16);
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 6 * n, [&] { k.add(x, y, &out); });
}

void Exp(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor x = Filled({n});
  Tensor out = Filled({n});
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 8 * n, [&] { k.exp(x, &out); });
}

void Select(benchmark::State& state) {
  const int64_t n = state.range(0) << 18;
  const Tensor c = Filled({n}, DType::kBool), x = Filled({n}), y = Filled({n});
  Tensor out = Filled({n});
  const TestingKernels k = AllTestingKernels().back();
  Measure(state, 13 * n, [&] { k.select(c, x, y, &out); });
}

void AddFourElements(benchmark::State& state) {
  const Tensor x = Filled({4}), y = Filled({4});
  Tensor out = Filled({4});
  const TestingKernels k = AllTestingKernels().back();
  for (auto _ : state) k.add(x, y, &out);
}

BENCHMARK(Memcpy)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(Add)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(AddInPlace)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(AddScalar)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(AddRow)
    ->Args({1, 512})
    ->Args({64, 512})
    ->Args({64, 4})
    ->UseRealTime();
BENCHMARK(AddColumn)
    ->Args({1, 512})
    ->Args({64, 512})
    ->Args({64, 4})
    ->UseRealTime();
BENCHMARK(AddTransposed)->Arg(512)->Arg(4096)->UseRealTime();
BENCHMARK(AddHalf)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(Exp)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(Select)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(AddFourElements);

}  // namespace
}  // namespace proa::inline v0::ops
