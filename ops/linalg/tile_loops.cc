#include "ops/linalg/tile_loops.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace proa::inline v0::ops::PROA_ISA {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileBytes = 64 * kTileRows;

// What the CPU reads of how large tiles are.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles 0 to 3 are C, two by two; 4 and 5 are of A, 6 and 7 of B. Of `rows`
// rows of C, at most 32.
void Configure(int64_t rows) {
  TileConfig config;
  const auto upper = static_cast<uint8_t>(std::min(rows, kTileRows));
  const auto lower =
      static_cast<uint8_t>(rows > kTileRows ? rows - kTileRows : kTileRows);
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = kTileRows;
  }
  config.rows[0] = config.rows[1] = config.rows[4] = upper;
  config.rows[2] = config.rows[3] = config.rows[5] = lower;
  // g++ 12 takes it that only the first eight bytes are read.
  asm volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

// Steps of a sum: those of all taps, one behind the other.
struct Steps {
  int64_t begin, end;
};

// A block of C, float32 in rows of kPanelColumns: `steps` of the sums, which go
// on from what `c` has unless they begin. `kDown`: tiles one above the other.
// `kIsFirst`: of a panel, which is not in the cache then: it is asked for
// ahead, two thirds of the time where weights come from memory.
template <int kDown, bool kIsFirst>
void MultiplyBlock(const TileProduct& p, const char* a, const char* panel,
                   Steps steps, float* c) {
  constexpr int64_t kRowBytes = kPanelColumns * 4;
  float* const lower = c + kTileRows * kPanelColumns;
  if (steps.begin == 0) {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (kDown == 2) {
      _tile_zero(2);
      _tile_zero(3);
    }
  } else {
    _tile_loadd(0, c, kRowBytes);
    _tile_loadd(1, c + 16, kRowBytes);
    if constexpr (kDown == 2) {
      _tile_loadd(2, lower, kRowBytes);
      _tile_loadd(3, lower + 16, kRowBytes);
    }
  }
  const int64_t of_tap = p.depth / kTileDepth;
  int64_t tap = steps.begin / of_tap, k = steps.begin % of_tap;
  panel += steps.begin * 2 * kTileBytes;
  for (int64_t step = steps.begin; step < steps.end; ++tap, k = 0) {
    const char* from = a + p.tap_bytes[tap] + k * kTileDepth * 2;
    const int64_t last = std::min(steps.end, step + of_tap - k);
    for (; step < last; ++step) {
      _tile_loadd(4, from, p.a_row_bytes);
      _tile_loadd(6, panel, 64);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kDown == 2) {
        _tile_loadd(5, from + kTileRows * p.a_row_bytes, p.a_row_bytes);
        _tile_dpbf16ps(2, 5, 6);
      }
      _tile_loadd(7, panel + kTileBytes, 64);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (kDown == 2) _tile_dpbf16ps(3, 5, 7);
      if constexpr (kIsFirst) {
        constexpr int64_t kAhead = 8 << 10, kLine = 64;
        for (int64_t i = 0; i < 2 * kTileBytes; i += kLine)
          _mm_prefetch(panel + kAhead + i, _MM_HINT_T1);
      }
      from += kTileDepth * 2;
      panel += 2 * kTileBytes;
    }
  }
  _tile_stored(0, c, kRowBytes);
  _tile_stored(1, c + 16, kRowBytes);
  if constexpr (kDown == 2) {
    _tile_stored(2, lower, kRowBytes);
    _tile_stored(3, lower + 16, kRowBytes);
  }
}

// The columns of a panel that are there.
struct Columns {
  __mmask16 left, right;
  __mmask32 both;
};

Columns ColumnsOf(int64_t count) {
  const auto both =
      static_cast<__mmask32>((uint64_t{1} << std::min<int64_t>(count, 32)) - 1);
  return {static_cast<__mmask16>(both), static_cast<__mmask16>(both >> 16),
          both};
}

__m512 Widened(__m256i low) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(low), 16));
}

// As formula::Relu: what is not a number stays so, and -0 too.
__m512 Relu(__m512 x) {
  const __m512 zero = _mm512_setzero_ps();
  return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, zero, _CMP_LT_OQ), zero);
}

__m512i Rounded(__m512 left, __m512 right) {
  const __m512bh low = _mm512_cvtne2ps_pbh(right, left);
  __m512i bits;
  std::memcpy(&bits, &low, sizeof(bits));
  return bits;
}

// 32 numbers of C with what follows.
__m512i WithSum(const TileProduct& p, __m512i bits, __mmask32 columns,
                const char* addend) {
  __m512 left = Widened(_mm512_castsi512_si256(bits));
  __m512 right = Widened(_mm512_extracti64x4_epi64(bits, 1));
  if (p.addend != nullptr) {
    const __m512i more = _mm512_maskz_loadu_epi16(columns, addend);
    left = _mm512_add_ps(left, Widened(_mm512_castsi512_si256(more)));
    right = _mm512_add_ps(right, Widened(_mm512_extracti64x4_epi64(more, 1)));
  }
  if (p.relu) {
    left = Relu(left);
    right = Relu(right);
  }
  return Rounded(left, right);
}

// Rows of a block, from `first` on, to C.
void WriteBlock(const TileProduct& p, int64_t first, int64_t rows,
                int64_t column, const Columns& columns, const float* block) {
  __m512 left_bias = _mm512_setzero_ps(), right_bias = left_bias;
  if (p.bias != nullptr) {
    left_bias = _mm512_maskz_loadu_ps(columns.left, p.bias + column);
    right_bias = _mm512_maskz_loadu_ps(columns.right, p.bias + column + 16);
  }
  char* const c = static_cast<char*>(p.c) + column * (p.float_result ? 4 : 2);
  for (int64_t i = 0; i < rows; ++i, block += kPanelColumns) {
    const int64_t row = p.c_rows == nullptr ? first + i : p.c_rows[first + i];
    if (row < 0) continue;
    __m512 left = _mm512_load_ps(block), right = _mm512_load_ps(block + 16);
    if (p.bias != nullptr) {
      left = _mm512_add_ps(left, left_bias);
      right = _mm512_add_ps(right, right_bias);
    }
    char* const to = c + row * p.c_row_bytes;
    if (p.float_result) {
      _mm512_mask_storeu_ps(to, columns.left, left);
      _mm512_mask_storeu_ps(to + 64, columns.right, right);
    } else {
      __m512i bits = Rounded(left, right);
      if (p.addend != nullptr || p.relu) {
        const char* const addend = p.addend == nullptr
                                       ? nullptr
                                       : static_cast<const char*>(p.addend) +
                                             column * 2 + row * p.c_row_bytes;
        bits = WithSum(p, bits, columns.both, addend);
      }
      _mm512_mask_storeu_epi16(to, columns.both, bits);
    }
  }
}

// 16 vectors of 16 elements of 32 bits, exchanged: vector i holds element i of
// each.
void Transpose(__m512i (&v)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // v[4 * i + j] holds, of vectors 4 * i to 4 * i + 3, elements j, 4 + j, 8 + j
  // and 12 + j.
  for (int j = 0; j < 4; ++j) {
    const __m512i low = _mm512_shuffle_i32x4(v[j], v[4 + j], 0x88);
    const __m512i high = _mm512_shuffle_i32x4(v[8 + j], v[12 + j], 0x88);
    const __m512i low_odd = _mm512_shuffle_i32x4(v[j], v[4 + j], 0xdd);
    const __m512i high_odd = _mm512_shuffle_i32x4(v[8 + j], v[12 + j], 0xdd);
    t[j] = _mm512_shuffle_i32x4(low, high, 0x88);
    t[4 + j] = _mm512_shuffle_i32x4(low_odd, high_odd, 0x88);
    t[8 + j] = _mm512_shuffle_i32x4(low, high, 0xdd);
    t[12 + j] = _mm512_shuffle_i32x4(low_odd, high_odd, 0xdd);
  }
  for (int i = 0; i < 16; ++i) v[i] = t[i];
}

// 16 columns and 32 rows of B, pairs of rows side by side. Columns from `count`
// on are zeros.
void PackTile(const TilePack& p, const uint16_t* from, int64_t count,
              uint16_t* to) {
  constexpr int64_t kPairs = 16;
  if (count < 16) std::memset(to, 0, kTileBytes);
  if (count == 16 && p.column_stride == 1) {
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
        6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    for (int64_t r = 0; r < kPairs; ++r) {
      const auto* const row = from + 2 * r * p.row_stride;
      const __m256i even =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
      const __m256i odd = _mm256_loadu_si256(
          reinterpret_cast<const __m256i*>(row + p.row_stride));
      const __m512i pair =
          _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
      _mm512_store_si512(to + r * 32, _mm512_permutexvar_epi16(order, pair));
    }
  } else if (p.row_stride == 1) {
    __m512i pairs[kPairs];
    for (int64_t j = 0; j < kPairs; ++j) {
      pairs[j] = j < count ? _mm512_loadu_si512(from + j * p.column_stride)
                           : _mm512_setzero_si512();
    }
    Transpose(pairs);
    for (int64_t r = 0; r < kPairs; ++r)
      _mm512_store_si512(to + r * 32, pairs[r]);
  } else {
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = 0; i < kTileDepth; ++i)
        to[i / 2 * 32 + j * 2 + i % 2] =
            from[i * p.row_stride + j * p.column_stride];
    }
  }
}

// The tiles of all taps of 32 rows and `count` columns of a weight of a
// convolution, whose taps lie side by side: each line of memory is read once.
// `step`: from a tile to that of the next tap, in elements.
void PackTaps(const TilePack& p, const uint16_t* from, int64_t count,
              int64_t step, uint16_t* to) {
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t i = 0; i < kTileDepth; ++i) {
      const uint16_t* const taps =
          from + i * p.row_stride + j * p.column_stride;
      uint16_t* const element = to + i / 2 * 32 + j * 2 + i % 2;
      for (int64_t tap = 0; tap < p.taps; ++tap)
        element[tap * step] = taps[tap * p.tap_stride];
    }
  }
}

bool HasTapsSideBySide(const TilePack& p) {
  return p.taps > 1 && (p.tap_stride == 1 || p.tap_stride == -1);
}

}  // namespace

void MultiplyTiles(const TileProduct& p) {
  constexpr int64_t kBlockRows = 2 * kTileRows;
  // What is summed over at a time where there are many rows: so much of a panel
  // stays in the first cache, 1.3 times as fast. The sums of so many rows stay
  // in the second one.
  constexpr int64_t kManySteps = 12, kCachedSteps = 8;
  constexpr int64_t kManyRows = 96, kRowsAtATime = 512;
  alignas(64) float sums[kRowsAtATime * kPanelColumns];
  const int64_t all_steps = p.taps * (p.depth / kTileDepth);
  const int64_t at_a_time =
      all_steps > kManySteps && p.rows >= kManyRows ? kCachedSteps : all_steps;
  // Of short sums a few rows at a time, of all columns, which lie together.
  const int64_t rows_at_a_time =
      at_a_time == all_steps && all_steps <= kManySteps ? kBlockRows
                                                        : kRowsAtATime;
  int64_t configured = 0;
  for (int64_t top = 0; top < p.rows; top += rows_at_a_time) {
    const int64_t bottom = std::min(p.rows, top + rows_at_a_time);
    for (int64_t column = 0; column < p.columns; column += kPanelColumns) {
      const char* const panel =
          static_cast<const char*>(p.panels) +
          column / kPanelColumns * PanelBytes(p.taps, p.depth);
      const Columns columns = ColumnsOf(p.columns - column);
      for (int64_t begin = 0; begin < all_steps; begin += at_a_time) {
        const Steps steps{begin, std::min(all_steps, begin + at_a_time)};
        for (int64_t row = top; row < bottom; row += kBlockRows) {
          const int64_t rows = std::min(kBlockRows, bottom - row);
          if (rows != configured) Configure(rows);
          configured = rows;
          const char* const a =
              static_cast<const char*>(p.a) + row * p.a_row_bytes;
          // One block is enough for sums that are written at once.
          float* const block = at_a_time == all_steps
                                   ? sums
                                   : sums + (row - top) * kPanelColumns;
          if (rows > kTileRows) {
            const auto multiply =
                row == 0 ? MultiplyBlock<2, true> : MultiplyBlock<2, false>;
            multiply(p, a, panel, steps, block);
          } else {
            const auto multiply =
                row == 0 ? MultiplyBlock<1, true> : MultiplyBlock<1, false>;
            multiply(p, a, panel, steps, block);
          }
          if (steps.end == all_steps)
            WriteBlock(p, row, rows, column, columns, block);
        }
      }
    }
  }
  _tile_release();
}

void PackTiles(const TilePack& p, int64_t begin, int64_t end) {
  for (int64_t panel = begin; panel < end; ++panel) {
    auto* to = reinterpret_cast<uint16_t*>(static_cast<char*>(p.to) +
                                           panel * PanelBytes(p.taps, p.depth));
    const int64_t step =
        p.depth / kTileDepth * kTileBytes;  // 2 tiles of 2 bytes
    if (HasTapsSideBySide(p)) {
      for (int64_t k = 0; k < p.depth; k += kTileDepth) {
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t column = panel * kPanelColumns + half * 16;
          const int64_t count = std::clamp<int64_t>(p.columns - column, 0, 16);
          for (int64_t tap = 0; count < 16 && tap < p.taps; ++tap)
            std::memset(to + tap * step, 0, kTileBytes);
          PackTaps(p,
                   static_cast<const uint16_t*>(p.from) + k * p.row_stride +
                       (count > 0 ? column * p.column_stride : 0),
                   count, step, to);
          to += kTileBytes / 2;
        }
      }
      continue;
    }
    for (int64_t tap = 0; tap < p.taps; ++tap) {
      for (int64_t k = 0; k < p.depth; k += kTileDepth) {
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t column = panel * kPanelColumns + half * 16;
          const int64_t count = std::clamp<int64_t>(p.columns - column, 0, 16);
          PackTile(p,
                   static_cast<const uint16_t*>(p.from) + tap * p.tap_stride +
                       k * p.row_stride +
                       (count > 0 ? column * p.column_stride : 0),
                   count, to);
          to += kTileBytes / 2;
        }
      }
    }
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
