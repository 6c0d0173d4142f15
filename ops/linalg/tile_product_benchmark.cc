// Products of bfloat16 in tiles beside oneDNN's, of the sizes that language and
// image models have, both with B in the order that they want. The limit is the
// rate of the tiles: 1024 multiply-adds a cycle and core, half of it where
// operands come from the second cache.
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "benchmark/benchmark.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/linalg/gemm_then.h"
#include "ops/linalg/tile_product.h"
#include "tensor/bfloat16.h"

namespace proa::inline v0::ops {
namespace {

void SetFlops(benchmark::State& state) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(state.range(0)) *
                             static_cast<double>(state.range(1)) *
                             static_cast<double>(state.range(2)),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void Tiles(benchmark::State& state) {
  if (!HasTiles()) return state.SkipWithError("no AMX");
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const std::vector<bfloat16> a(m * k, bfloat16(0.5f)),
      b(k * n, bfloat16(0.25f));
  std::vector<bfloat16> c(m * n);
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> panels(CountPanels(n) * PanelBytes(1, k) / 64);
  TilePack pack;
  pack.depth = k;
  pack.columns = n;
  pack.from = b.data();
  pack.row_stride = n;
  pack.column_stride = 1;
  pack.to = panels.data();
  PackInTiles(pack);
  constexpr int64_t kNoTap = 0;
  TileProduct p;
  p.rows = m;
  p.columns = n;
  p.depth = k;
  p.a = a.data();
  p.a_row_bytes = k * 2;
  p.tap_bytes = &kNoTap;
  p.panels = panels.data();
  p.c = c.data();
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
  const std::unordered_map<int, memory> args = {
      {DNNL_ARG_SRC, memory(pd.src_desc(), engine)},
      {DNNL_ARG_WEIGHTS, memory(pd.weights_desc(), engine)},
      {DNNL_ARG_DST, memory(pd.dst_desc(), engine)}};
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
