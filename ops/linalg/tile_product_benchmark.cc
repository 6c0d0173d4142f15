// Products of bfloat16 in tiles beside oneDNN's, of the sizes that language and
// image models have, both with B in the order that they want. The limit is the
// rate of the tiles: 1024 multiply-adds a cycle and core, half of it where
// operands come from the second cache.
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "benchmark/benchmark.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/linalg/gemm_then.h"
#include "ops/linalg/tile_product.h"
#include "tensor/bfloat16.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {
namespace {

void SetFlops(benchmark::State& state) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(state.range(0)) *
                             static_cast<double>(state.range(1)) *
                             static_cast<double>(state.range(2)),
                         benchmark::Counter::kIsIterationInvariantRate);
}

Tensor Filled(int64_t size) {
  Tensor t = Tensor::Empty({size}, DType::kBFloat16);
  std::fill_n(t.data<bfloat16>(), size, bfloat16(0.5f));
  return t;
}

void Tiles(benchmark::State& state) {
  if (!HasTiles()) return state.SkipWithError("no AMX");
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const Tensor a = Filled(m * k), b = Filled(k * n), c = Filled(m * n);
  const Tensor panels = Filled(CountPanels(n) * PanelBytes(1, k) / 2);
  TilePack pack;
  pack.depth = k;
  pack.columns = n;
  pack.from = b.raw_data();
  pack.row_stride = n;
  pack.column_stride = 1;
  pack.to = panels.raw_data();
  PackInTiles(pack);
  constexpr int64_t kNoTap = 0;
  TileProduct p;
  p.rows = m;
  p.columns = n;
  p.depth = k;
  p.a = a.raw_data();
  p.a_row_bytes = k * 2;
  p.tap_bytes = &kNoTap;
  p.panels = panels.raw_data();
  p.c = c.raw_data();
  p.c_row_bytes = n * 2;
  for (auto _ : state) MultiplyInTiles(p, [](const GemmPart&) {});
  SetFlops(state);
}

void OneDnn(benchmark::State& state) {
  using dnnl::memory;
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto desc = [](int64_t rows, int64_t columns, memory::format_tag tag) {
    return memory::desc({rows, columns}, memory::data_type::bf16, tag);
  };
  const dnnl::matmul::primitive_desc pd(
      dnnl::matmul::desc(desc(m, k, memory::format_tag::ab),
                         desc(k, n, memory::format_tag::any),
                         desc(m, n, memory::format_tag::ab)),
      engine);
  const dnnl::matmul matmul(pd);
  // Pages that nobody has written are one page of zeros.
  const auto filled = [](const memory::desc& desc) {
    return Filled(static_cast<int64_t>(desc.get_size()) / 2);
  };
  const Tensor a = filled(pd.src_desc()), b = filled(pd.weights_desc()),
               c = filled(pd.dst_desc());
  const std::unordered_map<int, memory> args = {
      {DNNL_ARG_SRC, memory(pd.src_desc(), engine, a.raw_data())},
      {DNNL_ARG_WEIGHTS, memory(pd.weights_desc(), engine, b.raw_data())},
      {DNNL_ARG_DST, memory(pd.dst_desc(), engine, c.raw_data())}};
  for (auto _ : state) {
    matmul.execute(stream, args);
    stream.wait();
  }
  SetFlops(state);
}

void Sizes(benchmark::internal::Benchmark* b) {
  for (const std::vector<int64_t>& mkn : std::vector<std::vector<int64_t>>{
           {1024, 768, 768},
           {1024, 768, 3072},
           {1024, 3072, 768},
           {128, 768, 3072},
           {3136, 64, 256},
           {196, 1024, 256},
           {49, 512, 2048},
       })
    b->Args(mkn);
  b->UseRealTime();
}
BENCHMARK(Tiles)->Apply(Sizes);
BENCHMARK(OneDnn)->Apply(Sizes);

}  // namespace
}  // namespace proa::inline v0::ops
