// Compiled once for each instruction set (bazel/isa.bzl).
#include "ops/onednn/block_pack_loops.h"

#include <algorithm>
#include <cstring>

#include "ops/primitives/cpu/turn.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Rows of the source are runs of columns and their taps: they are turned, some
// rows side by side. `rows` are those of the block.
void TurnRows(const BlockPlan& plan, int64_t rows, int64_t begin, int64_t end,
              const float* from, float* to) {
  const int64_t taps = plan.taps();
  const int64_t whole = rows / kPiece * kPiece;
  const int64_t last = end * taps;
  // Where the next element of a run goes.
  int64_t tap = 0, column = begin * plan.to_column;
  const auto next_place = [&] {
    const int64_t found = plan.to_tap[tap] + column;
    if (++tap == taps) {
      tap = 0;
      column += plan.to_column;
    }
    return found;
  };
  Piece piece, beside;
  int64_t k = begin * taps;
  for (; k + kPiece <= last; k += kPiece) {
    int64_t places[kPiece];
    for (int i = 0; i < kPiece; ++i) places[i] = next_place();
    int64_t r = 0;
    // A line of the cache at a time.
    for (; r + 2 * kPiece <= whole; r += 2 * kPiece) {
      Load(from + r * plan.from_row + k, plan.from_row, piece);
      Load(from + (r + kPiece) * plan.from_row + k, plan.from_row, beside);
      Turn(piece);
      Turn(beside);
      for (int i = 0; i < kPiece; ++i) {
        float* const line = to + places[i] + r;
        std::memcpy(line, &piece[i], sizeof(PieceRow));
        std::memcpy(line + kPiece, &beside[i], sizeof(PieceRow));
      }
    }
    if (r < whole) {
      Load(from + r * plan.from_row + k, plan.from_row, piece);
      Turn(piece);
      for (int i = 0; i < kPiece; ++i)
        std::memcpy(to + places[i] + r, &piece[i], sizeof(PieceRow));
    }
    for (r = whole; r < rows; ++r)
      for (int i = 0; i < kPiece; ++i)
        to[places[i] + r] = from[r * plan.from_row + k + i];
  }
  for (; k < last; ++k) {
    float* const line = to + next_place();
    for (int64_t r = 0; r < rows; ++r) line[r] = from[r * plan.from_row + k];
  }
}

// Columns of the source are runs of rows and their taps, which part into a line
// for each tap. `rows` of one column, to the lines of a block.
void PartTaps(const BlockPlan& plan, int64_t rows, const float* run,
              float* lines) {
  const int64_t taps = plan.taps();
  if (taps == 1) {
    std::memcpy(lines + plan.to_tap[0], run, rows * sizeof(float));
    return;
  }
  int64_t r = 0;
  for (; taps >= kPiece && r + kPiece <= rows; r += kPiece) {
    // The last piece takes some taps again.
    for (int64_t t_end = kPiece; t_end < taps + kPiece; t_end += kPiece) {
      const int64_t t = std::min(t_end, taps) - kPiece;
      Piece piece;
      Load(run + r * taps + t, taps, piece);
      Turn(piece);
      for (int i = 0; i < kPiece; ++i)
        std::memcpy(lines + plan.to_tap[t + i] + r, &piece[i],
                    sizeof(PieceRow));
    }
  }
  for (; r < rows; ++r)
    for (int64_t t = 0; t < taps; ++t)
      lines[plan.to_tap[t] + r] = run[r * taps + t];
}

// Rows that the block has.
int64_t RowsOf(const BlockPlan& plan, int64_t block) {
  return std::min(plan.lanes, plan.rows - block * plan.lanes);
}

}  // namespace

void PackBlocks(const BlockPlan& plan, const BlockPart& part, const float* from,
                float* to) {
  const int64_t begin = part.first_column, end = part.last_column;
  const auto source = [&](int64_t block) {
    return from + block * plan.lanes * plan.from_row;
  };
  for (int64_t k = part.first_block; k < part.last_block; ++k) {
    const int64_t rows = RowsOf(plan, k);
    float* const block = to + k * plan.to_block;
    if (plan.by_rows()) TurnRows(plan, rows, begin, end, source(k), block);
    if (rows == plan.lanes) continue;
    for (const int64_t tap : plan.to_tap)
      for (int64_t c = begin; c < end; ++c)
        std::fill_n(block + tap + c * plan.to_column + rows, plan.lanes - rows,
                    0.f);
  }
  if (plan.by_rows()) return;
  // A run of the source is read as it lies, through all blocks.
  for (int64_t c = begin; c < end; ++c) {
    for (int64_t k = part.first_block; k < part.last_block; ++k) {
      PartTaps(plan, RowsOf(plan, k), source(k) + c * plan.from_column,
               to + k * plan.to_block + c * plan.to_column);
    }
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
