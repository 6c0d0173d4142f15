// On any device: elements in other places by strided copies. Where places
// follow no strides they are listed on the host, dim by dim, and taken by
// `gather`; the adjoints are sums and `gather_grad`.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/indexing/gather_ops.h"
#include "ops/manipulation/arrange_kernels.h"
#include "ops/primitives/device/copy.h"
#include "ops/reduction/sum_ops.h"
#include "tensor/copy.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::device {
namespace {

InterpreterScope Plainly() {
  return InterpreterScope::Forbid(kAllInterpreters);
}

Tensor ListIn(Place place, const std::vector<int64_t>& values) {
  const Tensor host =
      Tensor::Empty({static_cast<int64_t>(values.size())}, DType::kInt64);
  std::ranges::copy(values, host.data<int64_t>());
  return CopyTo(host, place, /*blocking=*/false);
}

// Roll -----------------------------------------------------------------------

struct RollDim {
  int dim;
  int64_t shift;  // in (0, n)
};

// Along each dim two blocks change places, so all is copied in 2^k blocks.
void CopyRolled(const Tensor& x, const Tensor& out,
                std::span<const RollDim> rolls) {
  if (rolls.empty()) return Copy(x, out);
  const auto [dim, shift] = rolls[0];
  const int64_t n = x.size(dim);
  const auto block = [&](const Tensor& t, int64_t start, int64_t size) {
    Shape shape = t.shape();
    shape[dim] = size;
    return t.AsStrided(shape, t.strides(), start * t.strides()[dim]);
  };
  CopyRolled(block(x, 0, n - shift), block(out, shift, n - shift),
             rolls.subspan(1));
  CopyRolled(block(x, n - shift, shift), block(out, 0, shift),
             rolls.subspan(1));
}

void RollBy(const Tensor& x, std::span<const int64_t> shifts,
            std::span<const int64_t> axis, bool back, const Tensor& out) {
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
  const Strides strides = ContiguousStrides(shape);
  CopyRolled(x.AsStrided(shape, strides, 0), out.AsStrided(shape, strides, 0),
             rolls);
}

// Tile -----------------------------------------------------------------------

// The index space of the tiled tensor cut into [repeat, dim] pairs, with the
// strides of the tiled tensor and of the one that is repeated.
struct TilePlan {
  Shape shape;
  Strides tiled, single;
  std::vector<int64_t> repeats;  // the dims that repeat
};

TilePlan PlanTile(const Tensor& tiled, const Tensor& single) {
  TilePlan plan;
  const int shift = tiled.rank() - single.rank();
  for (int i = 0; i < tiled.rank(); ++i) {
    const int64_t n = i < shift ? 1 : single.size(i - shift);
    const int64_t step = i < shift ? 0 : single.strides()[i - shift];
    const int64_t times = tiled.size(i) / n;
    if (times != 1) {
      plan.repeats.push_back(plan.shape.rank());
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

// The sum of `x` over `axes`, whose elements in row-major order are those of
// `out`.
void SumTo(const Tensor& x, std::span<const int64_t> axes, const Tensor& out) {
  const InterpreterScope plain = Plainly();
  const Tensor total = axes.empty() ? Contiguous(x) : sum(x, axes, out.dtype());
  Copy(total.AsStrided(out.shape(), ContiguousStrides(out.shape()), 0), out);
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
    from.insert(from.end(), repeats[static_cast<int>(i)], i);
  }
  return from;
}

Tensor WithShape(const Tensor& t, const Shape& shape) {
  return t.AsStrided(shape, ContiguousStrides(shape), 0);
}

// Pad ------------------------------------------------------------------------

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
  const Tensor outside =
      padded.AsStrided(shape, padded.strides(), padded_offset);
  const Tensor inside = inner.AsStrided(shape, inner.strides(), inner_offset);
  from_padded ? Copy(outside, inside) : Copy(inside, outside);
}

// The element of n that each of the padded dim is a copy of.
std::vector<int64_t> PaddedFrom(int64_t n, int64_t before, int64_t after,
                                std::string_view mode) {
  std::vector<int64_t> from;
  for (int64_t i = -before; i < n + after; ++i) {
    if (mode == "replicate") {
      from.push_back(std::clamp<int64_t>(i, 0, n - 1));
    } else if (mode == "reflect") {
      from.push_back(i < 0 ? -i : i < n ? i : 2 * (n - 1) - i);
    } else {
      from.push_back((i % n + n) % n);
    }
  }
  return from;
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
  Copy(x.AsStrided(x.shape(), strides, offset), *out);
}

void Roll(const KernelContext&, const Tensor& x,
          std::span<const int64_t> shifts, std::span<const int64_t> axis,
          Tensor* out) {
  RollBy(x, shifts, axis, /*back=*/false, *out);
}

void RollGrad(const KernelContext&, const Tensor& dy,
              std::span<const int64_t> shifts, std::span<const int64_t> axis,
              Tensor* out) {
  RollBy(dy, shifts, axis, /*back=*/true, *out);
}

void Tile(const KernelContext&, const Tensor& x, const IntArray&, Tensor* out) {
  if (out->numel() == 0) return;
  const TilePlan plan = PlanTile(*out, x);
  Copy(x.AsStrided(plan.shape, plan.single, 0),
       out->AsStrided(plan.shape, plan.tiled, 0));
}

void TileGrad(const KernelContext& ctx, const Tensor& dy, const IntArray&,
              const IntArray&, Tensor* out) {
  if (out->numel() == 0) return;
  if (dy.numel() == 0) return Zero(ctx, *out);
  const TilePlan plan = PlanTile(dy, *out);
  SumTo(dy.AsStrided(plan.shape, plan.tiled, 0), plan.repeats, *out);
}

void RepeatInterleave(const KernelContext&, const Tensor& x,
                      const IntArray& repeats, std::optional<int64_t> axis,
                      Tensor* out) {
  if (out->numel() == 0) return;
  const auto [outer, n, inner] = DimsAt(x.shape(), axis);
  if (repeats.size() == 1) {
    const Shape shape{outer, n, repeats[0], inner};
    return Copy(x.AsStrided(shape, {n * inner, inner, 0, 1}, 0),
                WithShape(*out, shape));
  }
  const InterpreterScope plain = Plainly();
  const Tensor rows = gather(WithShape(x, {outer, n, inner}),
                             ListIn(x.place(), RepeatedFrom(n, repeats)), 1);
  Copy(WithShape(rows, out->shape()), *out);
}

void RepeatInterleaveGrad(const KernelContext& ctx, const Tensor& dy,
                          const IntArray&, const IntArray& repeats,
                          std::optional<int64_t> axis, Tensor* out) {
  if (out->numel() == 0) return;
  if (dy.numel() == 0) return Zero(ctx, *out);
  const auto [outer, n, inner] = DimsAt(out->shape(), axis);
  if (repeats.size() == 1) {
    const int64_t repeated[] = {2};
    return SumTo(WithShape(dy, {outer, n, repeats[0], inner}), repeated, *out);
  }
  const InterpreterScope plain = Plainly();
  const std::vector<int64_t> from = RepeatedFrom(n, repeats);
  const Tensor rows = gather_grad(
      WithShape(dy, {outer, static_cast<int64_t>(from.size()), inner}),
      ListIn(dy.place(), from), IntArray({outer, n, inner}), 1);
  Copy(WithShape(rows, out->shape()), *out);
}

void Pad(const KernelContext& ctx, const Tensor& x,
         std::span<const int64_t> paddings, std::string_view mode,
         const Scalar& value, Tensor* out) {
  if (out->numel() == 0) return;
  if (mode == "constant") {
    Fill(ctx, *out, value);
    return CopyShared(x, *out, paddings, /*from_padded=*/false);
  }
  const InterpreterScope plain = Plainly();
  Tensor padded = x;
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t before = paddings[2 * d], after = paddings[2 * d + 1];
    if (before == 0 && after == 0) continue;
    padded = gather(
        padded, ListIn(x.place(), PaddedFrom(x.size(d), before, after, mode)),
        d);
  }
  Copy(padded, *out);
}

void PadGrad(const KernelContext& ctx, const Tensor& dy, const IntArray&,
             std::span<const int64_t> paddings, std::string_view mode,
             Tensor* out) {
  if (mode == "constant" || dy.numel() == 0) {
    Zero(ctx, *out);
    if (dy.numel() != 0) CopyShared(dy, *out, paddings, /*from_padded=*/true);
    return;
  }
  const InterpreterScope plain = Plainly();
  Tensor sums = dy;
  for (int d = dy.rank() - 1; d >= 0; --d) {
    const int64_t before = paddings[2 * d], after = paddings[2 * d + 1];
    if (before == 0 && after == 0) continue;
    Shape shape = sums.shape();
    shape[d] = out->size(d);
    sums = gather_grad(
        sums, ListIn(dy.place(), PaddedFrom(out->size(d), before, after, mode)),
        IntArray(shape), d);
  }
  Copy(sums, *out);
}

}  // namespace proa::inline v0::ops::device
