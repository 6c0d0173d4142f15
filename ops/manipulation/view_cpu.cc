// Kernels of views: each only describes, on any device. Their adjoints copy
// into zeros, on the CPU (view_device.cc: elsewhere).
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ops/manipulation/manipulation_infer.h"
#include "ops/manipulation/slice_range.h"
#include "ops/manipulation/strided_kernels.h"
#include "ops/manipulation/view_kernels.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/memory_order.h"

namespace proa::inline v0::ops::cpu {
namespace {

// Strides under which the elements of `x` in row-major order have `shape`;
// nullopt if no strides do. Runs of dims of x that lie one behind the other are
// cut anew.
std::optional<Strides> ViewStrides(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous() || x.numel() == 0) return ContiguousStrides(shape);
  DimVector sizes, steps;  // without dims of size 1, whose steps mean nothing
  for (int i = 0; i < x.rank(); ++i) {
    if (x.size(i) == 1) continue;
    sizes.push_back(x.size(i));
    steps.push_back(x.strides()[i]);
  }
  Strides out(shape.rank(), 1);
  int next = shape.rank() - 1;  // the dim of `shape` to be made
  for (int i = static_cast<int>(sizes.size()) - 1; i >= 0; --i) {
    const int64_t step = steps[i];
    int64_t run = sizes[i];
    for (; i > 0 && steps[i - 1] == sizes[i] * steps[i]; --i)
      run *= sizes[i - 1];
    int64_t filled = 1;
    while (next >= 0 && (filled < run || shape[next] == 1)) {
      out[next] = filled * step;
      filled *= shape[next--];
    }
    if (filled != run) return std::nullopt;
  }
  return out;
}

// Strides of `x` in a copy that lies channels-last under `shape`, where `x` is
// an image that does so with some dims divided: channels that are shuffled, and
// pixels that become channels or come from them, are joined again without
// turning the image round. Else nullopt.
std::optional<Strides> ImageStrides(const Tensor& x, const Shape& shape) {
  const int rank = shape.rank();
  if (rank < 4 || rank > 5 || x.rank() <= rank || x.size(0) != shape[0])
    return std::nullopt;
  // Dims [first[d], first[d + 1]) of x are dim d of the image.
  std::array<int, 6> first{};
  for (int d = 0, i = 0; d < rank; ++d) {
    int64_t size = 1;
    do {
      if (i == x.rank()) return std::nullopt;
      size *= x.size(i++);
    } while (size < shape[d]);
    if (size != shape[d]) return std::nullopt;
    first[d + 1] = i;
  }
  // Dims of one element at the end.
  first[rank] = x.rank();
  // The step of the first of these dims, and the largest.
  const auto steps = [&](int d) {
    std::pair<int64_t, int64_t> s{0, 0};
    for (int i = first[d]; i < first[d + 1]; ++i) {
      if (x.size(i) == 1) continue;
      if (s.second == 0) s.first = x.strides()[i];
      s.second = std::max(s.second, x.strides()[i]);
    }
    return s;
  };
  const auto [channel, largest_channel] = steps(1);
  if (largest_channel == 0) return std::nullopt;
  int64_t largest_pixel = 0;
  for (int d = 2; d < rank; ++d) {
    const auto [pixel, largest] = steps(d);
    if (largest == 0) continue;  // of one element
    if (pixel <= channel) return std::nullopt;
    largest_pixel = std::max(largest_pixel, largest);
  }
  if (largest_pixel <= largest_channel) return std::nullopt;
  Strides out(x.rank(), 1);
  int64_t step = 1;
  const auto lay = [&](int d) {
    for (int i = first[d + 1] - 1; i >= first[d]; --i) {
      out[i] = step;
      step *= x.size(i);
    }
  };
  lay(1);
  for (int d = rank - 1; d > 1; --d) lay(d);
  lay(0);
  if (step == 0) return std::nullopt;
  return out;
}

// `x` under another shape of as many elements: a view if possible, else a copy.
Tensor WithShape(const Tensor& x, const Shape& shape) {
  if (const std::optional<Strides> strides = ViewStrides(x, shape)) {
    return x.AsStrided(shape, *strides, 0);
  }
  Tensor copy;
  if (x.place().is_cpu()) {
    if (const std::optional<Strides> strides = ImageStrides(x, shape)) {
      copy =
          EmptyInOrder(shape, x.dtype(), x.place(), MemoryOrder::kChannelsLast);
      CopyElements(x, copy.AsStrided(x.shape(), *strides, 0));
      return copy;
    }
    copy = Tensor::Empty(x.shape(), x.dtype());
    CopyElements(x, copy);
  } else {
    copy = Contiguous(x);
  }
  Tensor out = copy.AsStrided(shape, ContiguousStrides(shape), 0);
  out.impl()->is_view = false;  // the copy is its own
  return out;
}

Tensor Part(const Tensor& x, const SlicePart& part) {
  return x.AsStrided(part.shape, part.strides, part.offset);
}

}  // namespace

void Reshape(const KernelContext&, const Tensor& x, const IntArray& shape,
             Tensor* out) {
  *out = WithShape(x, infer::reshape("reshape", x, shape));
}

void Transpose(const KernelContext&, const Tensor& x,
               std::span<const int64_t> perm, Tensor* out) {
  Strides strides;
  const int rank = x.rank();
  for (int i = 0; i < rank; ++i) {
    const int64_t p = perm.empty() ? rank - 1 - i : perm[i];
    strides.push_back(x.strides()[p < 0 ? p + rank : p]);
  }
  *out = x.AsStrided(infer::transpose("transpose", x, perm), strides, 0);
}

void TransposeGrad(const KernelContext&, const Tensor& dy,
                   std::span<const int64_t> perm, Tensor* out) {
  Strides strides = dy.strides();
  const int rank = dy.rank();
  for (int i = 0; i < rank; ++i) {
    const int64_t p = perm.empty() ? rank - 1 - i : perm[i];
    strides[p < 0 ? p + rank : p] = dy.strides()[i];
  }
  *out = dy.AsStrided(infer::transpose_grad("transpose_grad", dy, perm),
                      strides, 0);
}

void Squeeze(const KernelContext&, const Tensor& x,
             std::span<const int64_t> axis, Tensor* out) {
  uint64_t chosen = axis.empty() ? ~uint64_t{0} : 0;
  for (int64_t a : axis) {
    chosen |= uint64_t{1} << NormalizeAxis("squeeze", a, x.rank());
  }
  Shape shape;
  Strides strides;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.size(i) == 1 && (chosen >> i & 1) != 0) continue;
    shape.push_back(x.size(i));
    strides.push_back(x.strides()[i]);
  }
  *out = x.AsStrided(shape, strides, 0);
}

void Unsqueeze(const KernelContext&, const Tensor& x,
               std::span<const int64_t> axis, Tensor* out) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  for (int64_t a : axis) {
    const int i = NormalizeAxis("unsqueeze", a, shape.rank() + 1);
    // The step over the whole dim behind it keeps a contiguous tensor
    // contiguous.
    const int64_t step = i < shape.rank() ? shape[i] * strides[i] : 1;
    shape.dims().insert(shape.dims().begin() + i, 1);
    strides.insert(strides.begin() + i, step);
  }
  *out = x.AsStrided(shape, strides, 0);
}

void Flatten(const KernelContext&, const Tensor& x, int64_t start_axis,
             int64_t stop_axis, Tensor* out) {
  *out = WithShape(x, infer::flatten("flatten", x, start_axis, stop_axis));
}

void BroadcastTo(const KernelContext&, const Tensor& x, const IntArray& shape,
                 Tensor* out) {
  const Shape to = infer::broadcast_to("broadcast_to", x, shape);
  Strides strides(to.rank(), 0);
  const int shift = to.rank() - x.rank();
  for (int i = 0; i < x.rank(); ++i) {
    if (x.size(i) == to[i + shift]) strides[i + shift] = x.strides()[i];
  }
  *out = x.AsStrided(to, strides, 0);
}

void Slice(const KernelContext&, const Tensor& x, std::span<const int64_t> axes,
           std::span<const int64_t> starts, std::span<const int64_t> ends,
           std::span<const int64_t> strides, Tensor* out) {
  *out = Part(x, ResolveSlices("slice", x.shape(), x.strides(), axes, starts,
                               ends, strides));
}

void SliceGrad(const KernelContext&, const Tensor& dy, const IntArray&,
               std::span<const int64_t> axes, std::span<const int64_t> starts,
               std::span<const int64_t> ends, std::span<const int64_t> strides,
               Tensor* out) {
  if (dy.numel() != out->numel()) Zero(*out);
  CopyElements(
      dy, Part(*out, ResolveSlices("slice_grad", out->shape(), out->strides(),
                                   axes, starts, ends, strides)));
}

void Diagonal(const KernelContext&, const Tensor& x, int64_t offset,
              int64_t axis1, int64_t axis2, Tensor* out) {
  *out = Part(x, ResolveDiagonal("diagonal", x.shape(), x.strides(), offset,
                                 axis1, axis2));
}

void DiagonalGrad(const KernelContext&, const Tensor& dy, const IntArray&,
                  int64_t offset, int64_t axis1, int64_t axis2, Tensor* out) {
  Zero(*out);
  CopyElements(
      dy, Part(*out, ResolveDiagonal("diagonal_grad", out->shape(),
                                     out->strides(), offset, axis1, axis2)));
}

void Split(const KernelContext&, const Tensor& x, const IntArray& sections,
           int64_t axis, std::vector<Tensor>* out) {
  const int a = NormalizeAxis("split", axis, x.rank());
  int64_t start = 0;
  for (const Shape& shape : infer::split("split", x, sections, axis)) {
    const int64_t offset =
        x.numel() == 0 || shape[a] == 0 ? 0 : start * x.strides()[a];
    out->push_back(x.AsStrided(shape, x.strides(), offset));
    start += shape[a];
  }
}

void Unbind(const KernelContext&, const Tensor& x, int64_t axis,
            std::vector<Tensor>* out) {
  const int a = NormalizeAxis("unbind", axis, x.rank());
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.dims().erase(shape.dims().begin() + a);
  strides.erase(strides.begin() + a);
  const int64_t step = x.numel() == 0 ? 0 : x.strides()[a];
  out->reserve(x.size(a));
  for (int64_t i = 0; i < x.size(a); ++i) {
    out->push_back(x.AsStrided(shape, strides, i * step));
  }
}

void AsReal(const KernelContext&, const Tensor& x, Tensor* out) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  for (int64_t& s : strides) s *= 2;
  shape.push_back(2);
  strides.push_back(1);
  *out = Tensor::FromStorage(x.storage(), RealType(x.dtype()), shape, strides,
                             x.numel() == 0 ? 0 : 2 * x.storage_offset());
  out->impl()->is_view = true;
}

void AsComplex(const KernelContext&, const Tensor& x, Tensor* out) {
  CopyBytes(out->raw_data(), x.raw_data(), x.bytes());
}

}  // namespace proa::inline v0::ops::cpu
