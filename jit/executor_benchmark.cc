// What a run of a program costs besides its kernels: chains of additions of
// four floats. An instruction costs the slope over their number; the aims are
// 60 ns of it above its kernel with the memory of the result. The CPU column
// counts; it does not see what else the machine does. From Python:
// benchmarks/run_overhead.py.
//   bazel run //jit:executor_benchmark
#include "jit/executor.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "benchmark/benchmark.h"
#include "jit/program.h"
#include "jit/recorder.h"
#include "ops/elementwise/binary_ops.h"
#include "ops/kernel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

Tensor Ones() {
  Tensor t = Tensor::Empty({4}, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = 1;
  return t;
}

auto KernelOfAdd(const Tensor& x) {
  return reinterpret_cast<ops::op::Add::Kernel>(
      ops::op::Add::kernels.Find(x.place().kind, x.dtype()));
}

// The kernel alone, into memory that is there.
void Kernel(benchmark::State& state) {
  const Tensor x = Ones(), y = Ones();
  const auto kernel = KernelOfAdd(x);
  Tensor out = Ones();
  for (auto _ : state) {
    kernel({x.place()}, x, y, &out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(Kernel);

// With the memory of its result.
void KernelAndMemory(benchmark::State& state) {
  const Tensor x = Ones(), y = Ones();
  const auto kernel = KernelOfAdd(x);
  for (auto _ : state) {
    Tensor out = Tensor::Empty(x.shape(), x.dtype());
    kernel({x.place()}, x, y, &out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(KernelAndMemory);

void Call(benchmark::State& state) {
  const Tensor x = Ones(), y = Ones();
  for (auto _ : state) benchmark::DoNotOptimize(ops::add(x, y));
}
BENCHMARK(Call);

// A run of so many instructions; `instruction` is the time of one, with its
// part of the run.
void Run(benchmark::State& state) {
  const int64_t count = state.range(0);
  const auto program = std::make_shared<Program>();
  const Tensor x = AddInput(program, "x", {4}, DType::kFloat32);
  Tensor y = x;
  for (int64_t i = 0; i < count; ++i) y = ops::add(y, x);
  const Executor executor(*program, {SymbolOf(y).id()});
  const std::pair<ValueId, Tensor> feeds[] = {{SymbolOf(x).id(), Ones()}};
  for (auto _ : state) benchmark::DoNotOptimize(executor.Run(feeds));
  using C = benchmark::Counter;
  state.counters["instruction"] =
      C(static_cast<double>(count), C::kIsIterationInvariantRate | C::kInvert);
}
BENCHMARK(Run)->Arg(1)->Arg(101)->Arg(1001);

}  // namespace
}  // namespace proa::inline v0::jit
