// Products of bfloat16 matrices in tiles of AMX, on all threads. The bits are
// the same for any number of threads, and any cut.
#ifndef PROA_OPS_LINALG_TILE_PRODUCT_H_
#define PROA_OPS_LINALG_TILE_PRODUCT_H_

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm_then.h"
#include "ops/linalg/tile_loops.h"

namespace proa::inline v0::ops {

// Whether this process may use tiles.
bool HasTiles();

// How many rows and columns, of whole panels, are computed at a time.
struct TileCut {
  int64_t rows, columns;
};
TileCut CutTiles(int64_t rows, int64_t columns, int64_t depth);

// The product on this thread. Calls `done` for parts of C that still lie in
// its cache; rows are those of A.
void MultiplyThen(const TileProduct& p,
                  absl::FunctionRef<void(const GemmPart& part)> done);

// The product, without c_rows. Calls `done` for each part of C on the thread
// that computed it.
void MultiplyInTiles(const TileProduct& p,
                     absl::FunctionRef<void(const GemmPart& part)> done);

// All panels of B.
void PackInTiles(const TilePack& p);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_LINALG_TILE_PRODUCT_H_
