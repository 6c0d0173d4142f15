// Kernels of index.yaml: NumPy's indexing with integer tensors. Where the
// indexed dims are neighbours and the index dims take their place, x is [outer,
// n, inner] and rows are moved; else each element of the result has a place of
// its own (ops/primitives/cuda/places.h).
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/indexing/index_kernels.h"
#include "ops/indexing/indexing_infer.h"
#include "ops/primitives/cuda/gather.h"
#include "ops/primitives/cuda/index.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/places.h"
#include "ops/primitives/cuda/scatter.h"
#include "ops/primitives/device/copy.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostIndices = 16;

struct IndexSum {
  int num = 0;
  const void* data[kMostIndices];
  bool wide[kMostIndices];
  int64_t step[kMostIndices];
  IndexBounds bounds[kMostIndices];
};

// sums[k] = the sum of index[k] * step of all indices.
__global__ void SumIndices(IndexSum sum, int64_t count,
                           int64_t* __restrict__ sums) {
  const int64_t k = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k >= count) return;
  int64_t total = 0;
  for (int j = 0; j < sum.num; ++j) {
    const int64_t value = sum.wide[j]
                              ? static_cast<const int64_t*>(sum.data[j])[k]
                              : static_cast<const int32_t*>(sum.data[j])[k];
    const int64_t i = sum.bounds[j].Resolve(value, k);
    total = total < 0 || i < 0 ? -1 : total + i * sum.step[j];
  }
  sums[k] = total;
}

// The elements of x that indices name, as rows of [outer, n, inner].
class Indexed {
 public:
  Indexed(const KernelContext& ctx, const char* op, const Shape& x,
          std::span<const Tensor> indices, std::span<const int64_t> axes,
          int64_t position) {
    const int rank = x.rank();
    const int at = infer::IndexPosition(op, x, axes, position);
    Shape dims = indices[0].shape();
    for (const Tensor& t : indices) {
      dims = BroadcastShapes(op, dims, t.shape());
    }
    bool neighbours = true;
    uint64_t chosen = 0;
    std::vector<int> axis;
    for (size_t k = 0; k < axes.size(); ++k) {
      axis.push_back(NormalizeAxis(op, axes[k], rank));
      chosen |= uint64_t{1} << axis[k];
      neighbours &= axis[k] == axis[0] + static_cast<int>(k);
    }
    const bool rows = neighbours && at == axis[0];
    int64_t outer = 1, n = 1, inner = 1;
    for (int d = 0; d < rank; ++d) {
      (d < axis[0] ? outer : (chosen >> d & 1) != 0 ? n : inner) *= x[d];
    }
    const Strides strides = ContiguousStrides(x);
    std::vector<int64_t> steps;
    for (size_t k = 0; k < axes.size(); ++k) {
      int64_t step = strides[axis[k]];
      if (rows) {  // in rows of the indexed dims
        step = 1;
        for (size_t j = k + 1; j < axes.size(); ++j) step *= x[axis[j]];
      }
      steps.push_back(step);
    }
    if (rows && axes.size() == 1) {
      Own(indices[0]);
      index_ = IndexOf(ctx, op, parts_[0], n, axis[0]);
    } else {
      Sum(ctx, op, x, indices, dims, axis, steps, n);
    }
    if (rows) {
      outer_ = outer;
      inner_ = inner;
      return;
    }
    Spread(ctx, x, dims.numel(), chosen, at);
  }

  const RowIndex& index() const { return index_; }
  int64_t outer() const { return outer_; }
  int64_t inner() const { return inner_; }

 private:
  // Keeps a contiguous form of it.
  void Own(const Tensor& t) { parts_.push_back(t); }

  void Sum(const KernelContext& ctx, const char* op, const Shape& x,
           std::span<const Tensor> indices, const Shape& dims,
           const std::vector<int>& axis, const std::vector<int64_t>& steps,
           int64_t n) {
    PROA_REQUIRE(indices.size() <= kMostIndices, op, ": ", indices.size(),
                 " indices; gpu kernels take ", kMostIndices,
                 "; move the tensors to the cpu");
    const int64_t count = dims.numel();
    sums_.emplace(ctx, count * int64_t{sizeof(int64_t)});
    index_ = ResolvedIndex(sums_->as<int64_t>(), count, n);
    if (count == 0) return;
    IndexSum sum;
    for (size_t k = 0; k < indices.size(); ++k) {
      Own(device::Broadcast(indices[k], dims));
      const RowIndex values =
          IndexOf(ctx, op, parts_.back(), x[axis[k]], axis[k]);
      sum.data[k] = values.data;
      sum.wide[k] = values.wide;
      sum.step[k] = steps[k];
      sum.bounds[k] = values.bounds;
      ++sum.num;
    }
    SumIndices<<<static_cast<uint32_t>(CeilDiv(count, kThreads)), kThreads, 0,
                 StreamOf(ctx)>>>(sum, count, sums_->as<int64_t>());
    CheckLaunch("sums of indices");
    ThrowCudaFaultOfLaunch(ctx.place.index);
  }

  // From offsets in x, one for each point of the index, to those of all
  // elements of the result: [dims before `at`, index, dims behind].
  void Spread(const KernelContext& ctx, const Shape& x, int64_t count,
              uint64_t chosen, int at) {
    const Strides strides = ContiguousStrides(x);
    PlacesSpace space;
    const auto add_index = [&] {
      space.shape.push_back(count);
      space.index.push_back(1);
      space.line.push_back(0);
    };
    int kept = 0;
    for (int d = 0; d < x.rank(); ++d) {
      if ((chosen >> d & 1) != 0) continue;
      if (kept++ == at) add_index();
      space.shape.push_back(x[d]);
      space.index.push_back(0);
      space.line.push_back(strides[d]);
    }
    if (kept <= at) add_index();
    const int64_t all = space.shape.numel();
    index_.bounds.n = x.numel();
    places_.emplace(ctx, all * int64_t{sizeof(int64_t)});
    ListPlaces(ctx, space, index_, places_->as<int64_t>());
    index_ = ResolvedIndex(places_->as<int64_t>(), all, x.numel());
  }

  std::vector<Tensor> parts_;
  std::optional<Workspace> sums_, places_;
  RowIndex index_;
  int64_t outer_ = 1, inner_ = 1;
};

void AddAll(const KernelContext& ctx, const Indexed& indexed,
            const Tensor& value, Tensor* out) {
  if (value.numel() == 0) return;
  ScatterAddRows(ctx, out->dtype(), indexed.outer(), indexed.inner(),
                 SortedRows(ctx, indexed.index()), value.raw_data(),
                 out->raw_data());
}

}  // namespace

void IndexGet(const KernelContext& ctx, const Tensor& x,
              std::span<const Tensor> indices, std::span<const int64_t> axes,
              int64_t position, Tensor* out) {
  if (out->numel() == 0) return;
  const Indexed indexed(ctx, "index_get", x.shape(), indices, axes, position);
  GatherRows(ctx, indexed.outer(), indexed.inner() * ItemSize(x.dtype()),
             indexed.index(), x.raw_data(), out->raw_data());
}

void IndexGetGrad(const KernelContext& ctx, const Tensor& dy,
                  std::span<const Tensor> indices, const IntArray&,
                  std::span<const int64_t> axes, int64_t position,
                  Tensor* out) {
  device::Zero(ctx, *out);
  if (dy.numel() == 0) return;
  AddAll(ctx,
         Indexed(ctx, "index_get_grad", out->shape(), indices, axes, position),
         dy, out);
}

void IndexPut(const KernelContext& ctx, const Tensor& x,
              std::span<const Tensor> indices, const Tensor& value,
              std::span<const int64_t> axes, int64_t position, bool accumulate,
              Tensor* out) {
  const Tensor values = device::Broadcast(
      value, infer::index_get("index_put", x, indices, axes, position));
  if (out->raw_data() != x.raw_data()) device::Copy(x, *out);
  if (values.numel() == 0) return;
  const Indexed indexed(ctx, "index_put", x.shape(), indices, axes, position);
  if (accumulate) return AddAll(ctx, indexed, values, out);
  ScatterRows(ctx, indexed.outer(), indexed.inner() * ItemSize(out->dtype()),
              SortedRows(ctx, indexed.index()), values.raw_data(),
              out->raw_data());
}

void IndexPutValueGrad(const KernelContext& ctx, const Tensor& dy,
                       std::span<const Tensor> indices,
                       std::span<const int64_t> axes, int64_t position,
                       Tensor* out) {
  if (out->numel() == 0) return;
  const Indexed indexed(ctx, "index_put_value_grad", dy.shape(), indices, axes,
                        position);
  const RowIndex& all = indexed.index();
  const Workspace last(ctx, all.count * int64_t{sizeof(int64_t)});
  LastWriters(ctx, SortedRows(ctx, all), last.as<int64_t>());
  GatherRows(ctx, indexed.outer(), indexed.inner() * ItemSize(dy.dtype()),
             ResolvedIndex(last.as<int64_t>(), all.count, all.bounds.n),
             dy.raw_data(), out->raw_data());
}

}  // namespace proa::inline v0::ops::cuda
