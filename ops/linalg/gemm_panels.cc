#include "ops/linalg/gemm_panels.h"

#include <algorithm>

#include "ops/linalg/gemm_call.h"
#include "ops/linalg/gemm_operands.h"
#include "ops/linalg/gemm_pieces.h"
#include "ops/onednn/packed_weights.h"
#include "ops/onednn/threads.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {
namespace {

// How the product is cut. The columns do not follow from m, which may be
// another one in each call.
GemmCut CutInPanels(const GemmProblem& p) {
  constexpr int64_t kWide = 256, kNarrow = 128, kHigh = 256, kLow = 96;
  // Of the machine, not of the threads now: the bits depend on it.
  const int64_t cpus = AvailableCpus();
  int64_t across = (p.n + kWide - 1) / kWide;
  const int64_t even = (across + cpus - 1) / cpus * cpus;
  if (p.n >= kNarrow * even) across = even;
  int64_t down = 1;
  while (p.m > kHigh * down ||
         (across * down < 2 * cpus && p.m >= 2 * kLow * down))
    down *= 2;
  return EvenCut(p.m, p.n, p.k, down, across, 1);
}

// Column by column of panels; each has rows as long as it is wide.
void PackPanels(const Tensor& weight, const onednn::PackOrder& order,
                void* to) {
  const auto [k, n, width, by_columns] = order.parameters;
  const auto* const from = static_cast<const float*>(weight.raw_data());
  auto* const out = static_cast<float*>(to);
  const int64_t panels = (n + width - 1) / width;
  parallel_for(
      0, panels, 1,
      [&, k = k, n = n, width = width, by_columns = by_columns](int64_t begin,
                                                                int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const int64_t first = p * width, wide = std::min(width, n - first);
          float* const panel = out + first * k;
          for (int64_t i = 0; i < k; ++i) {
            if (by_columns == 0) {
              std::copy_n(from + i * n + first, wide, panel + i * wide);
            } else {
              for (int64_t j = 0; j < wide; ++j)
                panel[i * wide + j] = from[(first + j) * k + i];
            }
          }
        }
      });
}

}  // namespace

bool IsKeptInPanels(const GemmProblem& p) {
  constexpr int64_t kFewRows = 4, kNarrow = 256, kSmall = 1 << 16;
  return p.dtype == DType::kFloat32 && p.m >= kFewRows && p.n >= kNarrow &&
         p.k * p.n >= kSmall && CanBeKept(p);
}

void RunInPanels(const GemmProblem& p,
                 absl::FunctionRef<void(const GemmPart& part)> done) {
  const GemmCut cut = CutInPanels(p);
  const onednn::PackedWeights packed(
      *p.weight,
      onednn::PackOrder{&PackPanels,
                        {p.k, p.n, cut.columns, p.b.column_stride != 1},
                        p.k * p.n * static_cast<int64_t>(sizeof(float))});
  const auto* const panels = static_cast<const float*>(packed.data());
  const int64_t down = (p.m + cut.rows - 1) / cut.rows;
  const int64_t pieces = GemmPieces(p, cut);
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    const onednn::SerialScope serial;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i / down * cut.columns, row = i % down * cut.rows;
      GemmProblem piece = p;
      piece.m = std::min(cut.rows, p.m - row);
      piece.n = std::min(cut.columns, p.n - column);
      piece.a.data = static_cast<const float*>(p.a.data) + row * p.a.row_stride;
      piece.b.data = panels + column * p.k;
      piece.b.row_stride = piece.n;
      piece.b.column_stride = 1;
      if (p.bias != nullptr)
        piece.bias = static_cast<const float*>(p.bias) + column;
      piece.c = static_cast<float*>(p.c) + row * p.n + column;
      CallGemm(piece, p.n);
      done({row, piece.m, column, piece.n});
    }
  });
}

}  // namespace proa::inline v0::ops
