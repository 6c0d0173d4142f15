// Kernels of gather.yaml: rows taken and put by index.
#include <cstdint>
#include <optional>

#include "ops/indexing/gather_kernels.h"
#include "ops/indexing/image_axis.h"
#include "ops/primitives/cuda/gather.h"
#include "ops/primitives/cuda/index.h"
#include "ops/primitives/cuda/launch.h"
#include "ops/primitives/cuda/scatter.h"
#include "ops/primitives/device/copy.h"
#include "tensor/copy.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cuda {
namespace {

constexpr int kThreads = 256;

struct AxisDims {
  int axis = 0;
  int64_t outer = 1, n = 1, inner = 1;
};

AxisDims DimsAt(const Shape& shape, int64_t axis) {
  AxisDims dims;
  dims.axis = NormalizeAxis("gather", axis, shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    (i < dims.axis    ? dims.outer
     : i == dims.axis ? dims.n
                      : dims.inner) *= shape[i];
  }
  return dims;
}

struct NdSizes {
  int64_t of[kMaxRank];
};

// Rows of a tensor whose leading `depth` dims are counted as one.
template <class Index>
__global__ void NdRowsOf(const Index* __restrict__ index, int depth,
                         NdSizes sizes, IndexBounds bounds, int64_t count,
                         int64_t* __restrict__ rows) {
  const int64_t k = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k >= count) return;
  int64_t row = 0;
  for (int d = 0; d < depth; ++d) {
    bounds.n = sizes.of[d];
    bounds.dim = d;
    const int64_t i = bounds.Resolve(index[k * depth + d], k * depth + d);
    row = row < 0 || i < 0 ? -1 : row * sizes.of[d] + i;
  }
  rows[k] = row;
}

// index [..., depth] as rows of a tensor of `shape`.
class NdRows {
 public:
  NdRows(const KernelContext& ctx, const char* op, const Tensor& index,
         const Shape& shape) {
    const auto depth = static_cast<int>(index.size(index.rank() - 1));
    int64_t count = 1;
    for (int i = 0; i + 1 < index.rank(); ++i) count *= index.size(i);
    NdSizes sizes = {};
    for (int i = 0; i < shape.rank(); ++i) {
      (i < depth ? n_ : inner_) *= shape[i];
      sizes.of[i] = shape[i];
    }
    rows_.emplace(ctx, count * int64_t{sizeof(int64_t)});
    row_index_ = ResolvedIndex(rows_->as<int64_t>(), count, n_);
    if (count == 0) return;
    const RowIndex values = IndexOf(ctx, op, index, 0, 0);
    const cudaStream_t stream = StreamOf(ctx);
    VisitIndex(values, [&]<class Index>(const Index* v) {
      NdRowsOf<Index><<<static_cast<uint32_t>(CeilDiv(count, kThreads)),
                        kThreads, 0, stream>>>(v, depth, sizes, values.bounds,
                                               count, rows_->as<int64_t>());
    });
    CheckLaunch("rows of an index");
    ThrowCudaFaultOfLaunch(ctx.place.index);
  }

  const RowIndex& index() const { return row_index_; }
  int64_t inner() const { return inner_; }

 private:
  int64_t n_ = 1, inner_ = 1;
  std::optional<Workspace> rows_;
  RowIndex row_index_;
};

// In place, out is x already.
void StartFrom(const Tensor& x, Tensor* out) {
  if (out->raw_data() != x.raw_data()) device::Copy(x, *out);
}

void AddNdRows(const KernelContext& ctx, const NdRows& rows,
               const Tensor& updates, Tensor* out) {
  if (updates.numel() == 0) return;
  ScatterAddRows(ctx, out->dtype(), 1, rows.inner(),
                 SortedRows(ctx, rows.index()), updates.raw_data(),
                 out->raw_data());
}

}  // namespace

void Gather(const KernelContext& ctx, const Tensor& x, const Tensor& index,
            int64_t axis, Tensor* out) {
  const AlongAxis a = InOneOrder(x, *out, axis);
  const AxisDims d = DimsAt(a.x.shape(), a.axis);
  const int at = NormalizeAxis("gather", axis, x.rank());
  const Tensor places = Contiguous(index);
  GatherRows(ctx, d.outer, d.inner * ItemSize(x.dtype()),
             IndexOf(ctx, "gather", places, d.n, at), a.x.raw_data(),
             a.out.raw_data());
}

void GatherGrad(const KernelContext& ctx, const Tensor& dy, const Tensor& index,
                const IntArray&, int64_t axis, Tensor* out) {
  device::Zero(ctx, *out);
  if (dy.numel() == 0) return;
  const AlongAxis a = InOneOrder(dy, *out, axis);
  const AxisDims d = DimsAt(a.out.shape(), a.axis);
  const int at = NormalizeAxis("gather", axis, out->rank());
  const Tensor places = Contiguous(index);
  const SortedRows rows(ctx, IndexOf(ctx, "gather_grad", places, d.n, at));
  ScatterAddRows(ctx, dy.dtype(), d.outer, d.inner, rows, a.x.raw_data(),
                 a.out.raw_data());
}

void GatherNd(const KernelContext& ctx, const Tensor& x, const Tensor& index,
              Tensor* out) {
  const NdRows rows(ctx, "gather_nd", index, x.shape());
  GatherRows(ctx, 1, rows.inner() * ItemSize(x.dtype()), rows.index(),
             x.raw_data(), out->raw_data());
}

void ScatterNd(const KernelContext& ctx, const Tensor& index,
               const Tensor& updates, const IntArray&, Tensor* out) {
  device::Zero(ctx, *out);
  AddNdRows(ctx, NdRows(ctx, "scatter_nd", index, out->shape()), updates, out);
}

void ScatterNdAdd(const KernelContext& ctx, const Tensor& x,
                  const Tensor& index, const Tensor& updates, Tensor* out) {
  StartFrom(x, out);
  AddNdRows(ctx, NdRows(ctx, "scatter_nd_add", index, x.shape()), updates, out);
}

void Scatter(const KernelContext& ctx, const Tensor& x, const Tensor& index,
             const Tensor& updates, bool overwrite, Tensor* out) {
  StartFrom(x, out);
  if (out->numel() == 0 || updates.numel() == 0) return;
  const AxisDims d = DimsAt(x.shape(), 0);
  const SortedRows rows(ctx, IndexOf(ctx, "scatter", index, d.n, 0));
  const int64_t row_bytes = d.inner * ItemSize(x.dtype());
  ScatterRows(ctx, 1, row_bytes, rows, overwrite ? updates.raw_data() : nullptr,
              out->raw_data());
  if (overwrite) return;
  ScatterAddRows(ctx, x.dtype(), 1, d.inner, rows, updates.raw_data(),
                 out->raw_data());
}

void ScatterGrad(const KernelContext& ctx, const Tensor& dy,
                 const Tensor& index, Tensor* out) {
  StartFrom(dy, out);
  if (out->numel() == 0) return;
  const AxisDims d = DimsAt(dy.shape(), 0);
  const SortedRows rows(ctx, IndexOf(ctx, "scatter_grad", index, d.n, 0));
  ScatterRows(ctx, 1, d.inner * ItemSize(dy.dtype()), rows, nullptr,
              out->raw_data());
}

void ScatterUpdatesGrad(const KernelContext& ctx, const Tensor& dy,
                        const Tensor& index, bool overwrite, Tensor* out) {
  if (out->numel() == 0) return;
  const AxisDims d = DimsAt(dy.shape(), 0);
  const int64_t row_bytes = d.inner * ItemSize(dy.dtype());
  const RowIndex rows = IndexOf(ctx, "scatter_updates_grad", index, d.n, 0);
  if (!overwrite) {
    return GatherRows(ctx, 1, row_bytes, rows, dy.raw_data(), out->raw_data());
  }
  const Workspace last(ctx, rows.count * int64_t{sizeof(int64_t)});
  LastWriters(ctx, SortedRows(ctx, rows), last.as<int64_t>());
  GatherRows(ctx, 1, row_bytes,
             ResolvedIndex(last.as<int64_t>(), rows.count, d.n), dy.raw_data(),
             out->raw_data());
}

}  // namespace proa::inline v0::ops::cuda
