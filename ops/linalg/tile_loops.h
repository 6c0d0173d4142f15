// Products of bfloat16 matrices in tiles of AMX, on one thread, and the order
// in which these want the second matrix.
#ifndef PROA_OPS_LINALG_TILE_LOOPS_H_
#define PROA_OPS_LINALG_TILE_LOOPS_H_

#include <cstdint>

namespace proa::inline v0::ops {

// What a tile sums over, and what stands side by side in a panel of B.
inline constexpr int64_t kTileDepth = 32;
inline constexpr int64_t kPanelColumns = 32;

// C[rows, columns] = sum over taps of A(tap)[rows, depth] B(tap)[depth,
// columns] (+ bias). Sums are those of float32, in the order of taps and of
// depth, whatever rows and columns there are. As AMX does it, denormals count
// as zero.
struct TileProduct {
  int64_t rows = 0, columns = 0;
  int64_t taps = 1;
  int64_t depth = 0;  // a multiple of kTileDepth
  // Row i of A(tap) lies at a + i * a_row_bytes + tap_bytes[tap].
  const void* a = nullptr;
  int64_t a_row_bytes = 0;
  const int64_t* tap_bytes = nullptr;  // [taps]
  const void* panels = nullptr;        // B by PackTiles
  const float* bias = nullptr;         // [columns], or null
  // Row i of C is row c_rows[i] at `c`, or, where that is negative, nowhere.
  // Null: row i.
  void* c = nullptr;  // bfloat16, or float32 for float_result
  int64_t c_row_bytes = 0;
  const int64_t* c_rows = nullptr;
  bool float_result = false;
  // Of a bfloat16 C alone, once it is rounded: rows that are added, which lie
  // as those of C do (they may be C's own memory), or null; and whether what is
  // less than zero becomes zero then.
  const void* addend = nullptr;
  bool relu = false;
};

// B in panels of kPanelColumns columns one behind the other, the last one with
// columns of zeros; a panel has its taps and their depth one behind the other.
// An element is at from[tap * tap_stride + row * row_stride + column *
// column_stride].
struct TilePack {
  int64_t taps = 1, depth = 0, columns = 0;
  const void* from = nullptr;
  int64_t tap_stride = 0, row_stride = 0, column_stride = 0;
  void* to = nullptr;
};

constexpr int64_t PanelBytes(int64_t taps, int64_t depth) {
  return taps * depth * kPanelColumns * 2;
}
constexpr int64_t CountPanels(int64_t columns) {
  return (columns + kPanelColumns - 1) / kPanelColumns;
}

// Only where HasTiles() (tile_product.h).
namespace amx {

void MultiplyTiles(const TileProduct& p);

// Panels [begin, end).
void PackTiles(const TilePack& p, int64_t begin, int64_t end);

}  // namespace amx
}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_TILE_LOOPS_H_
