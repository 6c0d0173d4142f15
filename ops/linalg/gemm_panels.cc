#include "ops/linalg/gemm_panels.h"

#include <algorithm>

#include "ops/linalg/gemm_call.h"
#include "ops/linalg/gemm_operands.h"
#include "ops/linalg/gemm_pieces.h"
#include "ops/onednn/packed_weights.h"
#include "ops/onednn/threads.h"
#include "tensor/file_memory.h"
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

// Panels one behind the other; each has rows as long as it is wide. Of a weight
// by rows some rows at a time, whose pages are forgotten at once: else a large
// one would be in memory twice for a while.
void PackPanels(const Tensor& weight, const onednn::PackOrder& order,
                void* to) {
  constexpr int64_t kAtATime = 4 << 20;  // elements
  const int64_t k = order.parameters[0], n = order.parameters[1];
  const int64_t width = order.parameters[2];
  const bool by_columns = order.parameters[3] != 0;
  const auto* const from = static_cast<const float*>(weight.raw_data());
  auto* const out = static_cast<float*>(to);
  const bool forget = weight.storage()->version() == 0;
  const int64_t step = by_columns ? k : std::max<int64_t>(1, kAtATime / n);
  for (int64_t top = 0; top < k; top += step) {
    const int64_t rows = std::min(step, k - top);
    parallel_for(
        0, (n + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            const int64_t first = p * width, wide = std::min(width, n - first);
            float* const panel = out + first * k;
            for (int64_t i = top; i < top + rows; ++i) {
              float* const row = panel + i * wide;
              if (!by_columns) {
                std::copy_n(from + i * n + first, wide, row);
              } else {
                for (int64_t j = 0; j < wide; ++j)
                  row[j] = from[(first + j) * k + i];
              }
            }
          }
        });
    if (forget && rows < k)
      ForgetFilePages(from + top * n,
                      rows * n * static_cast<int64_t>(sizeof(float)));
  }
}

}  // namespace

bool IsKeptInPanels(const GemmProblem& p) {
  constexpr int64_t kNarrow = 256, kSmall = 1 << 16;
  return p.dtype == DType::kFloat32 && p.m > 1 && p.n >= kNarrow &&
         p.k * p.n >= kSmall && CanBeKept(p) &&
         IsFileMemory(*p.weight->storage()) &&
         CanBeReadInPlace(p.batch, p.a, p.m, p.k);
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
