// On any device: parts by strides.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/indexing/gather_ops.h"
#include "ops/manipulation/manipulation_infer.h"
#include "ops/manipulation/strided_kernels.h"
#include "ops/primitives/device/copy.h"
#include "tensor/copy.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::ops::device {
namespace {

// The part of a contiguous `x`; inference has seen that it lies inside.
Tensor PartOf(const Tensor& x, const Shape& shape,
              std::span<const int64_t> strides, int64_t offset) {
  return x.AsStrided(shape, Strides(strides.begin(), strides.end()),
                     shape.numel() == 0 ? 0 : offset);
}

// Whether no two elements can be one: each step passes all that is inside of
// it.
bool Distinct(const Shape& shape, std::span<const int64_t> strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // step, size
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] != 1) {
      dims.emplace_back(strides[d] < 0 ? -strides[d] : strides[d], shape[d]);
    }
  }
  std::ranges::sort(dims);
  int64_t reach = 0;
  for (const auto& [step, size] : dims) {
    if (step <= reach) return false;
    reach += step * (size - 1);
  }
  return true;
}

// The elements of a contiguous tensor that a part has, in its order.
Tensor PlacesOf(Place place, const Shape& shape,
                std::span<const int64_t> strides, int64_t offset) {
  const Tensor host = Tensor::Empty(shape, DType::kInt64);
  int64_t* to = host.data<int64_t>();
  DimVector at(shape.rank(), 0);
  for (int64_t k = 0; k < shape.numel(); ++k) {
    to[k] = offset;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += strides[d];
      if (++at[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return CopyTo(host, place, /*blocking=*/false);
}

}  // namespace

void AsStridedGrad(const KernelContext& ctx, const Tensor& dy, const IntArray&,
                   std::span<const int64_t> strides, int64_t offset,
                   Tensor* out) {
  if (dy.numel() == 0 || Distinct(dy.shape(), strides)) {
    Zero(ctx, *out);
    return Copy(dy, PartOf(*out, dy.shape(), strides, offset));
  }
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  const Tensor sums =
      gather_grad(dy, PlacesOf(dy.place(), dy.shape(), strides, offset),
                  IntArray({out->numel()}), 0);
  Copy(sums.AsStrided(out->shape(), ContiguousStrides(out->shape()), 0), *out);
}

void AsStridedSet(const KernelContext&, const Tensor& x, const Tensor& value,
                  const IntArray& shape, std::span<const int64_t> strides,
                  int64_t offset, Tensor* out) {
  Copy(x, *out);
  const Shape part =
      infer::as_strided("as_strided_set", x, shape, strides, offset);
  Copy(value, PartOf(*out, part, strides, offset));
}

}  // namespace proa::inline v0::ops::device
