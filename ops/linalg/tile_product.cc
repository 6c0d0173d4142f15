#include "ops/linalg/tile_product.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "ops/onednn/cpu_isa.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// Linux gives the memory of tiles only to processes that ask for it.
bool AskForTiles() {
#ifdef __linux__
  constexpr int64_t kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

// Asked at load (tensor/fork_locks.h says why).
const bool has_tiles =
    onednn::Has(dnnl::cpu_isa::avx512_core_amx) && AskForTiles();

constexpr int64_t kBlockRows = 32;

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t RoundUp(int64_t a, int64_t step) { return DivideUp(a, step) * step; }

}  // namespace

bool HasTiles() { return has_tiles; }

TileCut CutTiles(int64_t rows, int64_t columns, int64_t depth) {
  // Rows of A of a part stay in the second cache, while columns of B pass by.
  constexpr int64_t kCachedBytes = 768 << 10;
  constexpr int64_t kFewRows = 64;
  // Multiply-adds that are worth a thread.
  constexpr double kLittle = 4e6;
  const int64_t threads = InParallelRegion() ? 1 : GetNumThreads();
  int64_t down = DivideUp(rows * depth * 2, kCachedBytes), across = 1;
  if (down > 1) {
    down = RoundUp(down, threads);
  } else if (static_cast<double>(rows) * static_cast<double>(columns) *
                 static_cast<double>(depth) >
             kLittle) {
    if (columns <= rows && rows >= kFewRows * threads) {
      down = threads;
    } else {
      across = threads;
    }
  }
  return {std::max(kBlockRows, RoundUp(DivideUp(rows, down), kBlockRows)),
          std::max(kPanelColumns,
                   RoundUp(DivideUp(columns, across), kPanelColumns))};
}

void MultiplyThen(const TileProduct& p,
                  absl::FunctionRef<void(const GemmPart& part)> done) {
  // What follows finds a part in the second cache. Where all of B stays there
  // too, whole rows are computed, so that C is written from end to end.
  constexpr int64_t kCachedElements = 32 << 10, kCachedBytes = 256 << 10;
  const int64_t panel = PanelBytes(p.taps, p.depth);
  const int64_t item = p.float_result ? 4 : 2;
  TileCut step{p.rows, p.columns};
  if (p.c_rows == nullptr && CountPanels(p.columns) * panel <= kCachedBytes) {
    step.rows =
        RoundUp(std::max<int64_t>(1, kCachedElements / p.columns), kBlockRows);
  } else {
    step.columns =
        RoundUp(std::max<int64_t>(1, kCachedElements / p.rows), kPanelColumns);
  }
  for (int64_t row = 0; row < p.rows; row += step.rows) {
    for (int64_t column = 0; column < p.columns; column += step.columns) {
      TileProduct part = p;
      part.rows = std::min(step.rows, p.rows - row);
      part.columns = std::min(step.columns, p.columns - column);
      part.a = static_cast<const char*>(p.a) + row * p.a_row_bytes;
      part.panels =
          static_cast<const char*>(p.panels) + column / kPanelColumns * panel;
      if (p.bias != nullptr) part.bias = p.bias + column;
      const int64_t c_byte = row * p.c_row_bytes + column * item;
      part.c = static_cast<char*>(p.c) + c_byte;
      if (p.addend != nullptr)
        part.addend = static_cast<const char*>(p.addend) + c_byte;
      amx::MultiplyTiles(part);
      done({row, part.rows, column, part.columns});
    }
  }
}

void MultiplyInTiles(const TileProduct& p,
                     absl::FunctionRef<void(const GemmPart& part)> done) {
  const TileCut cut = CutTiles(p.rows, p.columns, p.taps * p.depth);
  const int64_t down = DivideUp(p.rows, cut.rows);
  const int64_t across = DivideUp(p.columns, cut.columns);
  const int64_t item = p.float_result ? 4 : 2;
  parallel_for(0, down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across * cut.rows;
      const int64_t column = i % across * cut.columns;
      TileProduct part = p;
      part.rows = std::min(cut.rows, p.rows - row);
      part.columns = std::min(cut.columns, p.columns - column);
      part.a = static_cast<const char*>(p.a) + row * p.a_row_bytes;
      part.panels = static_cast<const char*>(p.panels) +
                    column / kPanelColumns * PanelBytes(p.taps, p.depth);
      if (p.bias != nullptr) part.bias = p.bias + column;
      part.c = static_cast<char*>(p.c) + row * p.c_row_bytes + column * item;
      if (p.addend != nullptr)
        part.addend = static_cast<const char*>(p.addend) + row * p.c_row_bytes +
                      column * item;
      MultiplyThen(part, [&](const GemmPart& inner) {
        done({row + inner.row, inner.rows, column + inner.column,
              inner.columns});
      });
    }
  });
}

void PackInTiles(const TilePack& p) {
  constexpr int64_t kWork = 1 << 15;  // elements that are worth a thread
  const int64_t panel = p.taps * p.depth * kPanelColumns;
  parallel_for(
      0, CountPanels(p.columns),
      std::max<int64_t>(1, kWork / std::max<int64_t>(1, panel)),
      [&](int64_t begin, int64_t end) { amx::PackTiles(p, begin, end); });
}

}  // namespace proa::inline v0::ops
