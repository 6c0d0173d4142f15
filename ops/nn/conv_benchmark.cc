// conv2d and its gradients beside bare oneDNN in the same process. Bare means:
// the formats that oneDNN likes best, on memory that is already in them. What
// we lose against it are the reorders from and to NCHW.
#include <cstdint>
#include <unordered_map>

#include "benchmark/benchmark.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/nn/conv_ops.h"
#include "tensor/tensor.h"

namespace proa {
namespace {

// batch, channels in, size, channels out, kernel, stride, padding
struct Layer {
  int64_t n, c, size, o, k, stride, pad;
  explicit Layer(const benchmark::State& s)
      : n(s.range(0)),
        c(s.range(1)),
        size(s.range(2)),
        o(s.range(3)),
        k(s.range(4)),
        stride(s.range(5)),
        pad(s.range(6)) {}
  int64_t out() const { return (size + 2 * pad - k) / stride + 1; }
  double flops() const {
    return 2.0 * static_cast<double>(n * o * out() * out() * c * k * k);
  }
};

void Layers(benchmark::internal::Benchmark* b) {
  b->Args({8, 3, 224, 64, 7, 2, 3});
  b->Args({8, 64, 56, 64, 3, 1, 1});
  b->Args({8, 64, 56, 256, 1, 1, 0});
  b->Args({8, 256, 14, 256, 3, 1, 1});
  b->Args({32, 6, 14, 16, 5, 1, 0});
  b->UseRealTime()->Unit(benchmark::kMicrosecond);
}

Tensor Filled(const Shape& shape) {
  Tensor t = Tensor::Empty(shape, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = static_cast<float>(i % 17) * 0.1f;
  return t;
}

void SetFlops(benchmark::State& state, const Layer& l) {
  state.counters["GFLOP/s"] = benchmark::Counter(
      1e-9 * l.flops(), benchmark::Counter::kIsIterationInvariantRate);
}

void Conv2d(benchmark::State& state) {
  const Layer l(state);
  const Tensor x = Filled({l.n, l.c, l.size, l.size});
  const Tensor w = Filled({l.o, l.c, l.k, l.k});
  const int64_t stride[] = {l.stride}, pad[] = {l.pad};
  for (auto _ : state)
    benchmark::DoNotOptimize(ops::conv2d(x, w, Tensor(), stride, pad));
  SetFlops(state, l);
}
BENCHMARK(Conv2d)->Apply(Layers);

void Conv2dChannelsLast(benchmark::State& state) {
  const Layer l(state);
  const Tensor x = Filled({l.n, l.size, l.size, l.c});
  const Tensor w = Filled({l.o, l.c, l.k, l.k});
  const int64_t stride[] = {l.stride}, pad[] = {l.pad}, one[] = {1};
  for (auto _ : state)
    benchmark::DoNotOptimize(
        ops::conv2d(x, w, Tensor(), stride, pad, one, 1, "NHWC"));
  SetFlops(state, l);
}
BENCHMARK(Conv2dChannelsLast)->Apply(Layers);

void Conv2dInputGrad(benchmark::State& state) {
  const Layer l(state);
  const Tensor g = Filled({l.n, l.o, l.out(), l.out()});
  const Tensor w = Filled({l.o, l.c, l.k, l.k});
  const int64_t stride[] = {l.stride}, pad[] = {l.pad};
  for (auto _ : state)
    benchmark::DoNotOptimize(ops::conv_input_grad(
        g, w, IntArray{l.n, l.c, l.size, l.size}, stride, pad));
  SetFlops(state, l);
}
BENCHMARK(Conv2dInputGrad)->Apply(Layers);

void Conv2dWeightGrad(benchmark::State& state) {
  const Layer l(state);
  const Tensor x = Filled({l.n, l.c, l.size, l.size});
  const Tensor g = Filled({l.n, l.o, l.out(), l.out()});
  const int64_t stride[] = {l.stride}, pad[] = {l.pad};
  for (auto _ : state)
    benchmark::DoNotOptimize(
        ops::conv_weight_grad(x, g, IntArray{l.o, l.c, l.k, l.k}, stride, pad));
  SetFlops(state, l);
}
BENCHMARK(Conv2dWeightGrad)->Apply(Layers);

void BareOneDnn(benchmark::State& state) {
  const Layer l(state);
  using tag = dnnl::memory::format_tag;
  const auto f32 = dnnl::memory::data_type::f32;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const dnnl::memory::desc x({l.n, l.c, l.size, l.size}, f32, tag::any);
  const dnnl::memory::desc w({l.o, l.c, l.k, l.k}, f32, tag::any);
  const dnnl::memory::desc y({l.n, l.o, l.out(), l.out()}, f32, tag::any);
  const dnnl::convolution_forward::primitive_desc desc(
      {dnnl::prop_kind::forward_training,
       dnnl::algorithm::convolution_direct,
       x,
       w,
       y,
       {l.stride, l.stride},
       {l.pad, l.pad},
       {l.pad, l.pad}},
      engine);
  const auto memory = [&](const dnnl::memory::desc& d) {
    dnnl::memory m(d, engine);
    float* data = static_cast<float*>(m.get_data_handle());
    for (size_t i = 0; i < d.get_size() / sizeof(float); ++i) data[i] = 0.5f;
    return m;
  };
  const dnnl::convolution_forward conv(desc);
  const std::unordered_map<int, dnnl::memory> args = {
      {DNNL_ARG_SRC, memory(desc.src_desc())},
      {DNNL_ARG_WEIGHTS, memory(desc.weights_desc())},
      {DNNL_ARG_DST, memory(desc.dst_desc())}};
  for (auto _ : state) {
    conv.execute(stream, args);
    stream.wait();
  }
  SetFlops(state, l);
}
BENCHMARK(BareOneDnn)->Apply(Layers);

}  // namespace
}  // namespace proa
