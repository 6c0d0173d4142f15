// Products in tiles of AMX against sums in double. The numbers are small and
// whole, so that sums are exact; they skip themselves where the CPU has no
// tiles.
#include "ops/linalg/tile_product.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ops/linalg/gemm_then.h"
#include "tensor/bfloat16.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

class Tiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasTiles()) GTEST_SKIP() << "no AMX";
  }
};

using Numbers = std::vector<bfloat16>;

Numbers Filled(int64_t size, uint32_t seed) {
  std::mt19937 rng(seed);
  Numbers out(size);
  for (bfloat16& x : out)
    x = bfloat16(static_cast<float>(static_cast<int>(rng() % 9) - 4));
  return out;
}

// Memory of panels lies at 64 bytes.
class Panels {
 public:
  explicit Panels(int64_t bytes) : memory_(bytes + 64) {}
  void* data() {
    void* at = memory_.data();
    size_t space = memory_.size();
    return std::align(64, space - 64, at, space);
  }

 private:
  std::vector<char> memory_;
};

// How B lies: [tap, row, column], with rows and columns exchanged, or as the
// weight of a convolution: [column, row, tap].
enum class Order { kRows, kColumns, kConvolution };

struct Case {
  int64_t rows, columns, taps, depth;
  Order order = Order::kRows;
  bool has_bias = false, float_result = true;
};

TilePack PackOf(const Case& c, const void* b, void* to) {
  TilePack p;
  p.taps = c.taps;
  p.depth = c.depth;
  p.columns = c.columns;
  p.from = b;
  p.to = to;
  switch (c.order) {
    case Order::kRows:
      p.column_stride = 1;
      p.row_stride = c.columns;
      p.tap_stride = c.depth * c.columns;
      break;
    case Order::kColumns:
      p.row_stride = 1;
      p.column_stride = c.depth;
      p.tap_stride = c.depth * c.columns;
      break;
    case Order::kConvolution:
      p.tap_stride = 1;
      p.row_stride = c.taps;
      p.column_stride = c.taps * c.depth;
      break;
  }
  return p;
}

constexpr int64_t kNoTap = 0;

// Of rows of A side by side, without a tap beside the first.
TileProduct ProductOf(const Case& c, const Numbers& a, const Numbers& b,
                      Panels& panels, void* to) {
  PackInTiles(PackOf(c, b.data(), panels.data()));
  TileProduct p;
  p.rows = c.rows;
  p.columns = c.columns;
  p.depth = c.depth;
  p.a = a.data();
  p.a_row_bytes = c.depth * 2;
  p.tap_bytes = &kNoTap;
  p.panels = panels.data();
  p.c = to;
  p.c_row_bytes = c.columns * (c.float_result ? 4 : 2);
  p.float_result = c.float_result;
  return p;
}

void Check(const Case& c) {
  SCOPED_TRACE(testing::Message()
               << c.rows << " x " << c.columns << ", " << c.taps << " taps of "
               << c.depth << ", order " << static_cast<int>(c.order));
  // Tap t of a row begins t pixels behind it.
  const int64_t pixels = c.rows + c.taps - 1;
  const Numbers a = Filled(pixels * c.depth, 1);
  const Numbers b = Filled(c.taps * c.depth * c.columns, 2);
  std::vector<float> bias(c.columns);
  for (int64_t j = 0; j < c.columns; ++j) bias[j] = static_cast<float>(j % 7);
  Panels panels(CountPanels(c.columns) * PanelBytes(c.taps, c.depth));
  const TilePack pack = PackOf(c, b.data(), panels.data());
  PackInTiles(pack);

  TileProduct p;
  p.rows = c.rows;
  p.columns = c.columns;
  p.taps = c.taps;
  p.depth = c.depth;
  p.a = a.data();
  p.a_row_bytes = c.depth * 2;
  std::vector<int64_t> taps(c.taps);
  for (int64_t t = 0; t < c.taps; ++t) taps[t] = t * p.a_row_bytes;
  p.tap_bytes = taps.data();
  p.panels = panels.data();
  if (c.has_bias) p.bias = bias.data();
  p.float_result = c.float_result;
  const int64_t size = c.rows * c.columns;
  std::vector<float> wide(size + 1, 12345.f);
  Numbers low(size + 1, bfloat16(12345.f));
  p.c = c.float_result ? static_cast<void*>(wide.data()) : low.data();
  p.c_row_bytes = c.columns * (c.float_result ? 4 : 2);
  std::vector<int> done(size);
  MultiplyInTiles(p, [&](const GemmPart& part) {
    for (int64_t i = part.row; i < part.row + part.rows; ++i)
      for (int64_t j = part.column; j < part.column + part.columns; ++j)
        ++done[i * c.columns + j];
  });
  EXPECT_EQ(done, std::vector<int>(size, 1));

  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      float sum = c.has_bias ? bias[j] : 0;
      for (int64_t t = 0; t < c.taps; ++t) {
        for (int64_t k = 0; k < c.depth; ++k)
          sum +=
              static_cast<float>(a[(i + t) * c.depth + k]) *
              static_cast<float>(b[t * pack.tap_stride + k * pack.row_stride +
                                   j * pack.column_stride]);
      }
      const int64_t at = i * c.columns + j;
      if (c.float_result) {
        ASSERT_EQ(wide[at], sum) << i << ", " << j;
      } else {
        ASSERT_EQ(low[at].bits(), bfloat16(sum).bits()) << i << ", " << j;
      }
    }
  }
  // Nothing behind the end.
  if (c.float_result) {
    EXPECT_EQ(wide[size], 12345.f);
  } else {
    EXPECT_EQ(low[size].bits(), bfloat16(12345.f).bits());
  }
}

TEST_F(Tiles, AllRowsAndColumnsAroundBlocks) {
  for (const int64_t rows : {1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 64, 65, 100})
    for (const int64_t columns : {1, 8, 15, 16, 17, 31, 32, 33, 47, 48, 63, 96})
      for (const bool wide : {false, true})
        Check({rows, columns, 1, 64, Order::kRows, rows % 2 == 0, wide});
}

TEST_F(Tiles, OrdersAndTaps) {
  for (const Order order : {Order::kRows, Order::kColumns, Order::kConvolution})
    for (const int64_t taps : {1, 2, 9})
      for (const int64_t depth : {32, 64, 160})
        for (const int64_t columns : {5, 16, 32, 40, 77})
          Check({37, columns, taps, depth, order, true, true});
}

// Sums in parts, of rows in parts.
TEST_F(Tiles, LongSumsOfManyRows) {
  for (const int64_t rows : {95, 96, 97, 511, 512, 513, 1100})
    for (const int64_t depth : {32 * 12, 32 * 13, 32 * 16, 32 * 24})
      Check({rows, 40, 1, depth, Order::kRows, true, true});
  for (const int64_t taps : {5, 9, 25})
    for (const int64_t depth : {32, 64, 96, 288})
      Check({130, 33, taps, depth, Order::kConvolution, true, false});
}

TEST_F(Tiles, AnyNumberOfThreads) {
  const int before = GetNumThreads();
  for (const int threads : {1, 2, 3, 7}) {
    SetNumThreads(threads);
    Check({700, 300, 1, 320, Order::kRows, true, true});     // rows are cut
    Check({70, 1000, 1, 320, Order::kColumns, true, true});  // columns are
    Check({5000, 40, 1, 320, Order::kRows, true, false});
  }
  SetNumThreads(before);
}

TEST_F(Tiles, RowsThatAreLeftOut) {
  constexpr int64_t kRows = 40, kColumns = 33, kDepth = 32;
  const Numbers a = Filled(kRows * kDepth, 1), b = Filled(kDepth * kColumns, 2);
  Panels panels(CountPanels(kColumns) * PanelBytes(1, kDepth));
  std::vector<float> all(kRows * kColumns), some(kRows * kColumns, -1.f);
  TileProduct p =
      ProductOf({kRows, kColumns, 1, kDepth}, a, b, panels, all.data());
  amx::MultiplyTiles(p);
  // Every third row, the last one first.
  std::vector<int64_t> rows(kRows, -1);
  for (int64_t i = 0; i < kRows; i += 3) rows[i] = kRows - 1 - i;
  p.c = some.data();
  p.c_rows = rows.data();
  amx::MultiplyTiles(p);
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t from = kRows - 1 - i;
    for (int64_t j = 0; j < kColumns; ++j)
      EXPECT_EQ(some[i * kColumns + j],
                from % 3 == 0 ? all[from * kColumns + j] : -1.f);
  }
}

// What is added and where less than zero becomes zero, in C's own memory too.
TEST_F(Tiles, SumsAndRelu) {
  constexpr int64_t kRows = 70, kDepth = 96;
  for (const int64_t columns : {16, 40, 200}) {
    const Numbers a = Filled(kRows * kDepth, 1),
                  b = Filled(kDepth * columns, 2);
    Numbers addend = Filled(kRows * columns, 3);
    addend[1] = bfloat16(std::numeric_limits<float>::quiet_NaN());
    Panels panels(CountPanels(columns) * PanelBytes(1, kDepth));
    Case c{kRows, columns, 1, kDepth};
    c.float_result = false;
    Numbers plain(kRows * columns), changed(kRows * columns);
    TileProduct p = ProductOf(c, a, b, panels, plain.data());
    MultiplyInTiles(p, [](const GemmPart&) {});
    for (const bool adds : {false, true}) {
      for (const bool relu : {false, true}) {
        for (const bool in_place : {false, true}) {
          Numbers own = addend;
          p.c = in_place ? own.data() : changed.data();
          p.addend = !adds ? nullptr : in_place ? own.data() : addend.data();
          p.relu = relu;
          MultiplyInTiles(p, [](const GemmPart&) {});
          const Numbers& got = in_place ? own : changed;
          for (int64_t i = 0; i < kRows * columns; ++i) {
            float want = plain[i];
            if (adds) want += addend[i];
            if (relu && want < 0) want = 0;
            if (std::isnan(want)) {
              EXPECT_TRUE(std::isnan(static_cast<float>(got[i])));
            } else {
              ASSERT_EQ(got[i].bits(), bfloat16(want).bits())
                  << i << " of " << columns << ", " << adds << relu << in_place;
            }
          }
        }
      }
    }
  }
}

// What is not a number stays one, in its row or column alone.
TEST_F(Tiles, NotANumber) {
  constexpr int64_t kRows = 35, kColumns = 20, kDepth = 64;
  const auto nan = bfloat16(std::numeric_limits<float>::quiet_NaN());
  const auto inf = bfloat16(std::numeric_limits<float>::infinity());
  Numbers a(kRows * kDepth, bfloat16(1.f)), b(kDepth * kColumns, bfloat16(1.f));
  a[3 * kDepth + 63] = nan;
  a[20 * kDepth] = inf;
  b[5 * kColumns + 7] = nan;
  Panels panels(CountPanels(kColumns) * PanelBytes(1, kDepth));
  Numbers c(kRows * kColumns);
  Case of{kRows, kColumns, 1, kDepth};
  of.float_result = false;
  const TileProduct p = ProductOf(of, a, b, panels, c.data());
  amx::MultiplyTiles(p);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const float got = c[i * kColumns + j];
      if (i == 3 || j == 7) {
        EXPECT_TRUE(std::isnan(got)) << i << ", " << j;
      } else if (i == 20) {
        EXPECT_EQ(got, std::numeric_limits<float>::infinity());
      } else {
        EXPECT_EQ(got, 64.f);
      }
    }
  }
}

}  // namespace
}  // namespace proa::inline v0::ops
