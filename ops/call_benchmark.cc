// What a call of an op costs from C++, on tensors of a few elements: the front
// door, inference, the kernel table, memory for the result. The aim for `add`
// is 60 ns. The CPU column counts; it does not see what else the machine does.
//   bazel run //ops:call_benchmark
#include <cstdint>

#include "benchmark/benchmark.h"
#include "ops/elementwise/activation_ops.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/int_array.h"
#include "ops/linalg/matmul_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

Tensor Ones(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = 1;
  return t;
}

void Add(benchmark::State& state) {
  const Tensor x = Ones({4}), y = Ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(ops::add(x, y));
}
BENCHMARK(Add);

void AddInPlace(benchmark::State& state) {
  Tensor x = Ones({4});
  const Tensor y = Ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(ops::add_(x, y));
}
BENCHMARK(AddInPlace);

void AddBroadcast(benchmark::State& state) {
  const Tensor x = Ones({4, 4}), y = Ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(ops::add(x, y));
}
BENCHMARK(AddBroadcast);

void Relu(benchmark::State& state) {
  const Tensor x = Ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(ops::relu(x));
}
BENCHMARK(Relu);

void Sum(benchmark::State& state) {
  const Tensor x = Ones({4});
  for (auto _ : state) benchmark::DoNotOptimize(ops::sum(x));
}
BENCHMARK(Sum);

void Reshape(benchmark::State& state) {
  const Tensor x = Ones({4});
  const IntArray shape{2, 2};
  for (auto _ : state) benchmark::DoNotOptimize(ops::reshape(x, shape));
}
BENCHMARK(Reshape);

void MatMul4x4(benchmark::State& state) {
  const Tensor x = Ones({4, 4}), y = Ones({4, 4});
  for (auto _ : state) benchmark::DoNotOptimize(ops::matmul(x, y));
}
BENCHMARK(MatMul4x4);

}  // namespace
}  // namespace proa::inline v0
