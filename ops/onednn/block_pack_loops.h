// The inner loops of block_pack.h, compiled for each instruction set.
#ifndef PROA_OPS_ONEDNN_BLOCK_PACK_LOOPS_H_
#define PROA_OPS_ONEDNN_BLOCK_PACK_LOOPS_H_

#include <cstdint>
#include <vector>

namespace proa::inline v0::ops {

// A weight [rows, columns, taps] whose taps lie one behind the other, in either
// order of rows and columns, and what becomes of it: blocks of rows, of which
// `lanes` lie side by side; those that are missing in the last block are zeros.
struct BlockPlan {
  int64_t rows, columns, lanes;
  int64_t from_row, from_column;  // steps in the source
  int64_t to_block, to_column;    // and in the target
  std::vector<int64_t> to_tap;    // where each tap of the source begins
  int64_t taps() const { return static_cast<int64_t>(to_tap.size()); }
  int64_t blocks() const { return (rows + lanes - 1) / lanes; }
  // Whether columns with their taps are what lies side by side in the source.
  bool by_rows() const { return from_column == taps(); }
};

// Some of it.
struct BlockPart {
  int64_t first_block, last_block, first_column, last_column;
};

using BlockPackLoop = void (*)(const BlockPlan& plan, const BlockPart& part,
                               const float* from, float* to);

#define PROA_DECLARE_BLOCK_PACK(isa)                            \
  namespace isa {                                               \
  void PackBlocks(const BlockPlan& plan, const BlockPart& part, \
                  const float* from, float* to);                \
  }
PROA_DECLARE_BLOCK_PACK(sse2)
PROA_DECLARE_BLOCK_PACK(avx2)
PROA_DECLARE_BLOCK_PACK(avx512)
#undef PROA_DECLARE_BLOCK_PACK

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_ONEDNN_BLOCK_PACK_LOOPS_H_
