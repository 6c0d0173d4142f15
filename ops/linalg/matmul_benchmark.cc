// matmul beside bare oneDNN in the same process: the front door and everything
// under it against a prepared primitive on prepared memory. The goal is 95 % at
// 1024.
#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "benchmark/benchmark.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/linalg/matmul_ops.h"
#include "tensor/tensor.h"

namespace proa {
namespace {

Tensor Filled(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = static_cast<float>(i % 17) * 0.1f;
  return t;
}

void SetFlops(benchmark::State& state, int64_t n) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(n * n * n),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void MatMul(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor x = Filled({n, n}), y = Filled({n, n});
  for (auto _ : state) benchmark::DoNotOptimize(ops::matmul(x, y));
  SetFlops(state, n);
}
BENCHMARK(MatMul)->Arg(4)->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->UseRealTime();

void MatMulTransposed(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor x = Filled({n, n}), y = Filled({n, n});
  for (auto _ : state) benchmark::DoNotOptimize(ops::matmul(x, y, false, true));
  SetFlops(state, n);
}
BENCHMARK(MatMulTransposed)->Arg(64)->Arg(1024)->UseRealTime();

void BareOneDnn(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor x = Filled({n, n}), y = Filled({n, n}), z = Filled({n, n});
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const dnnl::memory::desc desc({n, n}, dnnl::memory::data_type::f32,
                                dnnl::memory::format_tag::ab);
  const dnnl::matmul matmul(
      dnnl::matmul::primitive_desc({desc, desc, desc}, engine));
  const std::unordered_map<int, dnnl::memory> args = {
      {DNNL_ARG_SRC, dnnl::memory(desc, engine, x.raw_data())},
      {DNNL_ARG_WEIGHTS, dnnl::memory(desc, engine, y.raw_data())},
      {DNNL_ARG_DST, dnnl::memory(desc, engine, z.raw_data())}};
  for (auto _ : state) {
    matmul.execute(stream, args);
    stream.wait();
  }
  SetFlops(state, n);
}
BENCHMARK(BareOneDnn)
    ->Arg(4)
    ->Arg(16)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->UseRealTime();

}  // namespace
}  // namespace proa
