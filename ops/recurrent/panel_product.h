// PanelProduct: C (+)= A B for the same B again and again, as each step of a
// recurrent cell does with its weight; compiled once per instruction set.
//
// A has few rows, so that what a product of a library does first, to copy B
// into the order that its loops want, costs as much as the product. Here that
// is done once, or once for all calls if B is a weight that does not change
// (ops/onednn/packed_weights.h): B stands in panels of kWidth columns, in which
// a row is one `Unit` of each column. What a unit is, and how it is multiplied,
// says the Kernel: step_product.h (a number) and low_step_product.h (two of
// bfloat16). Sums over k go in one order, whatever the rows and threads.
#ifndef PROA_OPS_RECURRENT_PANEL_PRODUCT_H_
#define PROA_OPS_RECURRENT_PANEL_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ops/onednn/packed_weights.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {

// A block of C: some of its rows in some panels, from `units` of their rows.
template <typename Kernel>
struct PanelBlock {
  using Unit = typename Kernel::Unit;
  using Sum = typename Kernel::Sum;

  int64_t units;
  const Unit* a;
  int64_t a_stride;
  const Unit* panel;
  int64_t panel_stride;  // to the next panel
  Sum* c;
  int64_t c_stride;
  int64_t width;  // columns of the last panel
  // What is added: rows like those of C, one row to each where the stride is 0;
  // or null.
  const Sum* base;
  int64_t base_stride;
};

template <typename Kernel>
using PanelFunction = void (*)(const PanelBlock<Kernel>&);

// How many panels are multiplied at once by few rows: a sum waits for the one
// before it, so there must be some to go on with meanwhile.
constexpr int PanelsAtOnce(int64_t rows) {
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

template <typename Kernel, int kRows = Kernel::kMostRows>
PanelFunction<Kernel> PanelFunctionOf(int64_t rows, int panels) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return PanelFunctionOf<Kernel, kRows - 1>(rows, panels);
  }
  if constexpr (PanelsAtOnce(kRows) > 1) {
    if (panels > 1) return &Kernel::template Run<kRows, PanelsAtOnce(kRows)>;
  }
  return &Kernel::template Run<kRows, 1>;
}

template <typename Kernel>
int64_t PanelCount(int64_t n) {
  return (n + Kernel::kWidth - 1) / Kernel::kWidth;
}

// B [k, n] before it is packed: element (q, j) at
// data[q * row_stride + j * column_stride], of Kernel::Source.
template <typename Kernel>
struct PanelSource {
  const typename Kernel::Source* data;
  int64_t k, n, row_stride, column_stride;
  const Tensor* weight = nullptr;  // whose elements these are, or null
  // Memory that the caller lends for the panels, or null.
  void* room = nullptr;
  int64_t room_bytes = 0;

  int64_t units() const {
    return (k + Kernel::kPerUnit - 1) / Kernel::kPerUnit;
  }
  int64_t bytes() const {
    return PanelCount<Kernel>(n) * units() * Kernel::kWidth *
           static_cast<int64_t>(sizeof(typename Kernel::Unit));
  }
  // Panels, [units, kWidth] each; zeros stand beyond the last row and column.
  void Pack(void* to) const {
    constexpr int64_t kWidth = Kernel::kWidth;
    const int64_t panel = units() * kWidth;
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / (k * kWidth));
    parallel_for(
        0, PanelCount<Kernel>(n), grain, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p)
            Kernel::Pack(*this, p * kWidth, std::min(kWidth, n - p * kWidth),
                         static_cast<typename Kernel::Unit*>(to) + p * panel);
        });
  }
  onednn::PackOrder Order() const {
    return {[](const Tensor& t, const onednn::PackOrder& order, void* to) {
              const auto& [k, n, row, column] = order.parameters;
              PanelSource{t.data<typename Kernel::Source>(), k, n, row, column}
                  .Pack(to);
            },
            {k, n, row_stride, column_stride},
            bytes()};
  }
};

template <typename Kernel>
class PanelProduct {
 public:
  using Unit = typename Kernel::Unit;
  using Sum = typename Kernel::Sum;
  static constexpr int64_t kWidth = Kernel::kWidth;

  // Elements of a unit.
  static constexpr int64_t kPerUnit =
      sizeof(Unit) / sizeof(typename Kernel::Element);

  // B [units, n].
  explicit PanelProduct(const PanelSource<Kernel>& b)
      : units_(b.units()), n_(b.n) {
    const bool may_be_kept = b.weight != nullptr && onednn::Predicts(*b.weight);
    if (!may_be_kept && b.room != nullptr && b.bytes() <= b.room_bytes) {
      b.Pack(b.room);
      panels_ = static_cast<const Unit*>(b.room);
      return;
    }
    if (b.weight != nullptr) {
      kept_.emplace(*b.weight, b.Order());
      panels_ = static_cast<const Unit*>(kept_->data());
      return;
    }
    packed_ = Tensor::Empty({b.bytes()}, DType::kUInt8, Place());
    b.Pack(packed_.raw_data());
    panels_ = static_cast<const Unit*>(packed_.raw_data());
  }

  int64_t panels() const { return PanelCount<Kernel>(n_); }

  // c [m, n] (+)= a [m, units]; both dense. Or a bias [n] more than the
  // product, where it is not added to c.
  void Run(const Unit* a, int64_t m, Sum* c, bool accumulate,
           const Sum* bias = nullptr) const {
    const int64_t parts = std::max<int64_t>(1, (units_ + kDepth - 1) / kDepth);
    parallel_for(0, panels(), Grain(m), [&](int64_t begin, int64_t end) {
      // Rows of A and parts of k that stay in the L2 cache, with those of a
      // panel that stay in the L1.
      for (int64_t row = 0; row < m; row += kChunk) {
        const int64_t rows = std::min(kChunk, m - row);
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t q = units_ * part / parts;
          PanelBlock<Kernel> block;
          block.units = units_ * (part + 1) / parts - q;
          block.a_stride = units_;
          block.panel_stride = units_ * kWidth;
          block.c_stride = n_;
          const bool adds = accumulate || part > 0;
          const Sum* const base = adds ? c + row * n_ : bias;
          block.base_stride = adds ? n_ : 0;
          const int at_once = PanelsAtOnce(rows);
          for (int64_t p = begin; p < end;) {
            const int count = end - p >= at_once ? at_once : 1;
            block.panel = panels_ + (p * units_ + q) * kWidth;
            block.width = std::min(kWidth, n_ - (p + count - 1) * kWidth);
            block.base = base == nullptr ? nullptr : base + p * kWidth;
            RunChunk(a + row * units_ + q, rows, count,
                     c + row * n_ + p * kWidth, &block);
            p += count;
          }
        }
      }
    });
  }

 private:
  static constexpr int64_t kDepth = 384;
  static constexpr int64_t kChunk = 16 * Kernel::kMostRows;

  // Panels that are worth a piece of a parallel loop: by what is multiplied,
  // or for few rows by what is read.
  int64_t Grain(int64_t m) const {
    constexpr int64_t kProducts = int64_t{1} << 18, kBytes = 3 << 17;
    const int64_t row = std::max<int64_t>(1, units_ * kWidth);
    return std::max<int64_t>(
        1, std::min(kProducts / (m * row),
                    kBytes / (row * static_cast<int64_t>(sizeof(Unit)))));
  }

  static void RunChunk(const Unit* a, int64_t m, int panels, Sum* c,
                       PanelBlock<Kernel>* block) {
    const int64_t blocks = (m + Kernel::kMostRows - 1) / Kernel::kMostRows;
    const Sum* const base = block->base;
    for (int64_t b = 0; b < blocks; ++b) {
      // Of nearly one size: a block of a row or two would wait for its sums.
      const int64_t row = m * b / blocks, rows = m * (b + 1) / blocks - row;
      block->a = a + row * block->a_stride;
      block->c = c + row * block->c_stride;
      if (base != nullptr) block->base = base + row * block->base_stride;
      PanelFunctionOf<Kernel>(rows, panels)(*block);
    }
  }

  int64_t units_, n_;
  std::optional<onednn::PackedWeights> kept_;
  Tensor packed_;
  const Unit* panels_;
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_RECURRENT_PANEL_PRODUCT_H_
