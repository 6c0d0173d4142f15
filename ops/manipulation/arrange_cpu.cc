// Kernels that copy the elements of a tensor to other places, and the adjoints,
// which add them up where they came from.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/manipulation/arrange_kernels.h"
#include "ops/primitives/cpu/gather.h"
#include "ops/primitives/cpu/strided_add.h"
#include "ops/primitives/cpu/strided_copy.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Roll -----------------------------------------------------------------------

struct RollDim {
  int dim;
  int64_t shift;  // in (0, n)
};

// Copies x to out rolled along rolls[0..]: along each dim two blocks change
// places, so all is copied in 2^k blocks.
void CopyRolled(Shape block, const Strides& strides, int64_t item_size,
                std::span<const RollDim> rolls, char* out, const char* x) {
  if (rolls.empty()) {
    return StridedCopy(block, item_size, out, strides, x, strides);
  }
  const auto [dim, shift] = rolls[0];
  const int64_t n = block[dim], step = strides[dim] * item_size;
  block[dim] = n - shift;
  CopyRolled(block, strides, item_size, rolls.subspan(1), out + shift * step,
             x);
  block[dim] = shift;
  CopyRolled(block, strides, item_size, rolls.subspan(1), out,
             x + (n - shift) * step);
}

void RollBy(const Tensor& x, std::span<const int64_t> shifts,
            std::span<const int64_t> axis, bool back, Tensor* out) {
  if (x.numel() == 0) return;
  const bool flat = axis.empty();
  const Shape shape = flat ? Shape{x.numel()} : x.shape();
  DimVector total(shape.rank(), 0);
  for (size_t k = 0; k < shifts.size(); ++k) {
    const int d = flat ? 0 : NormalizeAxis("roll", axis[k], shape.rank());
    if (shape.rank() == 0) break;  // one element
    const int64_t n = shape[d];
    const int64_t shift = (shifts[k] % n + n) % n;
    total[d] = (total[d] + (back ? n - shift : shift)) % n;
  }
  std::vector<RollDim> rolls;
  for (int d = 0; d < shape.rank(); ++d) {
    if (total[d] != 0) rolls.push_back({d, total[d]});
  }
  CopyRolled(shape, ContiguousStrides(shape), ItemSize(x.dtype()), rolls,
             out->data<char>(), x.data<char>());
}

// Tile -----------------------------------------------------------------------

// The index space of the tiled tensor cut into [repeat, dim] pairs, without
// those of size 1, with the strides of the tiled tensor and of the one that is
// repeated.
struct TilePlan {
  Shape shape;
  Strides tiled, single;
};

TilePlan PlanTile(const Tensor& tiled, const Tensor& single) {
  TilePlan plan;
  const int shift = tiled.rank() - single.rank();
  for (int i = 0; i < tiled.rank(); ++i) {
    const int64_t n = i < shift ? 1 : single.size(i - shift);
    const int64_t step = i < shift ? 0 : single.strides()[i - shift];
    const int64_t times = tiled.size(i) / n;
    if (times != 1) {
      plan.shape.push_back(times);
      plan.tiled.push_back(n * tiled.strides()[i]);
      plan.single.push_back(0);
    }
    if (n != 1) {
      plan.shape.push_back(n);
      plan.tiled.push_back(tiled.strides()[i]);
      plan.single.push_back(step);
    }
  }
  return plan;
}

// Repeat ---------------------------------------------------------------------

struct RepeatDims {
  int64_t outer = 1, n = 1, inner = 1;
};

RepeatDims DimsAt(const Shape& shape, std::optional<int64_t> axis) {
  if (!axis.has_value() || shape.rank() == 0) return {1, shape.numel(), 1};
  const int a = NormalizeAxis("repeat_interleave", *axis, shape.rank());
  RepeatDims dims;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < a ? dims.outer : i == a ? dims.n : dims.inner) *= shape[i];
  }
  return dims;
}

// The element that each repeated one is a copy of.
std::vector<int64_t> RepeatedFrom(int64_t n, const IntArray& repeats) {
  std::vector<int64_t> from;
  for (int64_t i = 0; i < n; ++i) {
    from.insert(from.end(),
                repeats[repeats.size() == 1 ? 0 : static_cast<int>(i)], i);
  }
  return from;
}

// Pad ------------------------------------------------------------------------

// The part of the padded tensor (contiguous) along `dim`: dims before it whole,
// dims after it without their padding.
struct PadRegion {
  Shape shape;
  int64_t offset = 0;
};

PadRegion RegionAt(const Shape& inner, const Tensor& padded,
                   std::span<const int64_t> paddings, int dim) {
  PadRegion region{padded.shape(), 0};
  for (int i = dim; i < inner.rank(); ++i) {
    region.shape[i] = inner[i];
    region.offset += paddings[2 * i] * padded.strides()[i];
  }
  region.offset -= paddings[2 * dim] * padded.strides()[dim];
  return region;
}

// Calls f(shape, strides of the pads, offset of the pads, stride along dim of
// what they copy, its offset) for the two paddings of `dim`. Offsets are in
// elements. A padding that goes round more than once copies what it copied
// before, and comes in parts: from the inside out, or with `undo` from the
// outside in.
template <typename F>
void ForEachPad(const Shape& inner, const Tensor& padded,
                std::span<const int64_t> paddings, std::string_view mode,
                int dim, bool undo, F f) {
  PadRegion region = RegionAt(inner, padded, paddings, dim);
  const int64_t n = inner[dim], before = paddings[2 * dim];
  const int64_t step = padded.strides()[dim];
  for (const bool after : {false, true}) {
    const int64_t size = paddings[2 * dim + (after ? 1 : 0)];
    if (size == 0) continue;
    const int64_t to = after ? before + n : 0;
    int64_t from = 0, direction = 0;
    if (mode == "replicate") {
      from = after ? before + n - 1 : before;
    } else if (mode == "reflect") {
      from = after ? before + n - 2 : 2 * before;
      direction = -1;
    } else {
      const int64_t rounds = (size - 1) / n + 1;
      Strides source = padded.strides();
      for (int64_t k = 0; k < rounds; ++k) {
        // Elements [first, last) of the padding, counted from the inside.
        const int64_t round = undo ? rounds - 1 - k : k;
        const int64_t first = round * n, last = std::min(size, first + n);
        const int64_t at = after ? before + n + first : before - last;
        region.shape[dim] = last - first;
        f(region.shape, region.offset + at * step, source,
          region.offset + (after ? at - n : at + n) * step);
      }
      continue;
    }
    region.shape[dim] = size;
    Strides source = padded.strides();
    source[dim] = direction * step;
    f(region.shape, region.offset + to * step, source,
      region.offset + from * step);
  }
}

// Copies the elements that x and the padded tensor share, in either direction;
// with negative paddings each has elements that the other has not.
void CopyShared(const Tensor& from, const Tensor& to,
                std::span<const int64_t> paddings, bool from_padded) {
  const Tensor& padded = from_padded ? from : to;
  const Tensor& inner = from_padded ? to : from;
  Shape shape = inner.shape();
  int64_t padded_offset = 0, inner_offset = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t before = paddings[2 * i], after = paddings[2 * i + 1];
    shape[i] += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    padded_offset += std::max<int64_t>(before, 0) * padded.strides()[i];
    inner_offset -= std::min<int64_t>(before, 0) * inner.strides()[i];
  }
  if (shape.numel() == 0) return;
  const int64_t item_size = ItemSize(from.dtype());
  StridedCopy(shape, item_size,
              to.data<char>() +
                  (from_padded ? inner_offset : padded_offset) * item_size,
              to.strides(),
              from.data<char>() +
                  (from_padded ? padded_offset : inner_offset) * item_size,
              from.strides());
}

}  // namespace

void Flip(const KernelContext&, const Tensor& x, std::span<const int64_t> axis,
          Tensor* out) {
  if (x.numel() == 0) return;
  Strides strides = x.strides();
  int64_t offset = 0;
  for (int64_t a : axis) {
    if (x.rank() == 0) break;  // one element, however it is turned
    const int i = NormalizeAxis("flip", a, x.rank());
    offset += (x.size(i) - 1) * strides[i];
    strides[i] = -strides[i];
  }
  const int64_t item_size = ItemSize(x.dtype());
  StridedCopy(x.shape(), item_size, out->raw_data(), out->strides(),
              x.data<char>() + offset * item_size, strides);
}

void Roll(const KernelContext&, const Tensor& x,
          std::span<const int64_t> shifts, std::span<const int64_t> axis,
          Tensor* out) {
  RollBy(x, shifts, axis, /*back=*/false, out);
}

void RollGrad(const KernelContext&, const Tensor& dy,
              std::span<const int64_t> shifts, std::span<const int64_t> axis,
              Tensor* out) {
  RollBy(dy, shifts, axis, /*back=*/true, out);
}

void Tile(const KernelContext&, const Tensor& x, const IntArray&, Tensor* out) {
  if (out->numel() == 0) return;
  const TilePlan plan = PlanTile(*out, x);
  StridedCopy(plan.shape, ItemSize(x.dtype()), out->raw_data(), plan.tiled,
              x.raw_data(), plan.single);
}

void TileGrad(const KernelContext&, const Tensor& dy, const IntArray&,
              const IntArray&, Tensor* out) {
  Zero(*out);
  if (dy.numel() == 0) return;
  const TilePlan plan = PlanTile(dy, *out);
  StridedAdd(dy.dtype(), plan.shape, out->raw_data(), plan.single,
             dy.raw_data(), plan.tiled);
}

void RepeatInterleave(const KernelContext&, const Tensor& x,
                      const IntArray& repeats, std::optional<int64_t> axis,
                      Tensor* out) {
  if (out->numel() == 0) return;
  const auto [outer, n, inner] = DimsAt(x.shape(), axis);
  if (repeats.size() == 1) {
    // Nothing has to say where elements come from, which would take the memory
    // of 8 bytes an element.
    const int64_t times = repeats[0];
    return StridedCopy(Shape{outer * n, times, inner}, ItemSize(x.dtype()),
                       out->raw_data(), Strides{times * inner, inner, 1},
                       x.raw_data(), Strides{inner, 0, 1});
  }
  GatherRows(outer, n, inner * ItemSize(x.dtype()), RepeatedFrom(n, repeats),
             x.raw_data(), out->raw_data());
}

void RepeatInterleaveGrad(const KernelContext&, const Tensor& dy,
                          const IntArray&, const IntArray& repeats,
                          std::optional<int64_t> axis, Tensor* out) {
  Zero(*out);
  if (dy.numel() == 0) return;
  const auto [outer, n, inner] = DimsAt(out->shape(), axis);
  ScatterAddRows(dy.dtype(), outer, n, inner, RepeatedFrom(n, repeats),
                 dy.raw_data(), out->raw_data());
}

void Pad(const KernelContext&, const Tensor& x,
         std::span<const int64_t> paddings, std::string_view mode,
         const Scalar& value, Tensor* out) {
  if (out->numel() == 0) return;
  if (mode == "constant") Fill(*out, value);
  CopyShared(x, *out, paddings, /*from_padded=*/false);
  if (mode == "constant") return;
  const int64_t item_size = ItemSize(x.dtype());
  for (int dim = 0; dim < x.rank(); ++dim) {
    ForEachPad(x.shape(), *out, paddings, mode, dim, /*undo=*/false,
               [&](const Shape& shape, int64_t to, const Strides& source,
                   int64_t from) {
                 StridedCopy(shape, item_size,
                             out->data<char>() + to * item_size, out->strides(),
                             out->data<char>() + from * item_size, source);
               });
  }
}

void PadGrad(const KernelContext&, const Tensor& dy, const IntArray&,
             std::span<const int64_t> paddings, std::string_view mode,
             Tensor* out) {
  if (mode == "constant" || dy.numel() == 0) {
    Zero(*out);
    if (dy.numel() != 0) CopyShared(dy, *out, paddings, /*from_padded=*/true);
    return;
  }
  // Undo the padding dim by dim, the last first: what was copied is added back.
  const Tensor sums = Tensor::Empty(dy.shape(), dy.dtype(), dy.place());
  CopyElements(dy, sums);
  const int64_t item_size = ItemSize(dy.dtype());
  for (int dim = dy.rank() - 1; dim >= 0; --dim) {
    ForEachPad(out->shape(), sums, paddings, mode, dim, /*undo=*/true,
               [&](const Shape& shape, int64_t to, const Strides& source,
                   int64_t from) {
                 StridedAdd(dy.dtype(), shape,
                            sums.data<char>() + from * item_size, source,
                            sums.data<char>() + to * item_size, sums.strides());
               });
  }
  CopyShared(sums, *out, paddings, /*from_padded=*/true);
}

}  // namespace proa::inline v0::ops::cpu
