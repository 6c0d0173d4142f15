// Square pieces of a matrix that is turned, in vectors. Compiled once for each
// instruction set.
#ifndef PROA_OPS_PRIMITIVES_CPU_TURN_H_
#define PROA_OPS_PRIMITIVES_CPU_TURN_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace proa::inline v0::ops::PROA_ISA {

inline constexpr int kPiece = 8;
// A row of a piece.
typedef float PieceRow __attribute__((vector_size(4 * kPiece)));
using Piece = std::array<PieceRow, kPiece>;

namespace turn_internal {

// Of two rows that lie kStep apart: the right parts of blocks of `a` and the
// left ones of `b` change places.
template <int kStep, int... l>
inline void ExchangeParts(PieceRow& a, PieceRow& b,
                          std::integer_sequence<int, l...>) {
  const PieceRow left = __builtin_shufflevector(
      a, b, ((l & kStep) != 0 ? kPiece + (l & ~kStep) : l)...);
  b = __builtin_shufflevector(a, b,
                              ((l & kStep) != 0 ? kPiece + l : (l | kStep))...);
  a = left;
}

template <int kStep>
inline void ExchangeParts(Piece& rows) {
  for (int i = 0; i < kPiece; ++i) {
    if ((i & kStep) != 0) continue;
    ExchangeParts<kStep>(rows[i], rows[i + kStep],
                         std::make_integer_sequence<int, kPiece>());
  }
}

}  // namespace turn_internal

// Rows become columns.
[[gnu::always_inline]] inline void Turn(Piece& rows) {
  turn_internal::ExchangeParts<4>(rows);
  turn_internal::ExchangeParts<2>(rows);
  turn_internal::ExchangeParts<1>(rows);
}

// The piece whose rows begin at `from` and lie `step` elements apart.
[[gnu::always_inline]] inline void Load(const float* from, int64_t step,
                                        Piece& rows) {
  for (int i = 0; i < kPiece; ++i)
    std::memcpy(&rows[i], from + i * step, sizeof(PieceRow));
}

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_PRIMITIVES_CPU_TURN_H_
