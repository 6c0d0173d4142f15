#include "ops/linalg/gemm_tiles.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "ops/linalg/gemm_operands.h"
#include "ops/linalg/tile_product.h"
#include "ops/onednn/packed_weights.h"
#include "tensor/bfloat16.h"
#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {
namespace {

TilePack PackOf(const GemmProblem& p, void* to) {
  TilePack pack;
  pack.depth = p.k;
  pack.columns = p.n;
  pack.from = p.b.data;
  pack.row_stride = p.b.row_stride;
  pack.column_stride = p.b.column_stride;
  pack.to = to;
  return pack;
}

void PackWeight(const Tensor& weight, const onednn::PackOrder& order,
                void* to) {
  TilePack pack;
  pack.depth = order.parameters[0];
  pack.columns = order.parameters[1];
  pack.from = weight.raw_data();
  pack.row_stride = order.parameters[2];
  pack.column_stride = order.parameters[3];
  pack.to = to;
  PackInTiles(pack);
}

std::vector<float> WideBias(const GemmProblem& p) {
  if (p.bias == nullptr) return {};
  std::vector<float> bias(p.n);
  for (int64_t j = 0; j < p.n; ++j) {
    bias[j] = p.float_result
                  ? static_cast<const float*>(p.bias)[j]
                  : static_cast<float>(static_cast<const bfloat16*>(p.bias)[j]);
  }
  return bias;
}

}  // namespace

bool SuitsTiles(const GemmProblem& p) {
  constexpr int64_t kManyRows = 64, kNarrow = 16;
  if (!HasTiles() || p.dtype != DType::kBFloat16 || !p.batch.empty())
    return false;
  if (p.k == 0 || p.k % kTileDepth != 0 || p.n < kNarrow ||
      p.a.column_stride != 1 || p.a.row_stride < 0)
    return false;
  if (CanBeKept(p)) return true;
  return p.m >= kManyRows &&
         ((p.b.column_stride == 1 && p.b.row_stride >= p.n) ||
          (p.b.row_stride == 1 && p.b.column_stride >= p.k));
}

void RunInTiles(const GemmProblem& p,
                absl::FunctionRef<void(const GemmPart& part)> done) {
  const int64_t bytes = CountPanels(p.n) * PanelBytes(1, p.k);
  std::optional<onednn::PackedWeights> kept;
  IntrusivePtr<Storage> own;
  void* panels;
  if (CanBeKept(p)) {
    kept.emplace(
        *p.weight,
        onednn::PackOrder{
            &PackWeight, {p.k, p.n, p.b.row_stride, p.b.column_stride}, bytes});
    panels = kept->data();
  } else {
    own = Storage::Allocate(bytes, Place());
    panels = own->data();
    PackInTiles(PackOf(p, panels));
  }
  const std::vector<float> bias = WideBias(p);
  constexpr int64_t kNoTap = 0;
  TileProduct product;
  product.rows = p.m;
  product.columns = p.n;
  product.depth = p.k;
  product.a = p.a.data;
  product.a_row_bytes = p.a.row_stride * 2;
  product.tap_bytes = &kNoTap;
  product.panels = panels;
  product.bias = p.bias == nullptr ? nullptr : bias.data();
  product.c = p.c;
  product.float_result = p.float_result;
  product.c_row_bytes = p.n * ItemSize(p.ResultType());
  MultiplyInTiles(product, done);
}

}  // namespace proa::inline v0::ops
