// Kernels that take or put whole rows (ops/primitives/cpu/gather.h).
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/indexing/gather_kernels.h"
#include "ops/indexing/image_axis.h"
#include "ops/primitives/cpu/gather.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/copy.h"

namespace proa::inline v0::ops::cpu {
namespace {

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

// index [..., depth] as numbers of rows of a tensor of `shape`, whose leading
// `depth` dims are counted as one.
struct NdRows {
  std::vector<int64_t> index;
  int64_t n = 1, inner = 1;
};

NdRows RowsOf(const char* op, const Tensor& index, const Shape& shape) {
  NdRows rows;
  const int64_t depth = index.size(index.rank() - 1);
  int64_t count = 1;
  for (int i = 0; i + 1 < index.rank(); ++i) count *= index.size(i);
  for (int i = 0; i < shape.rank(); ++i)
    (i < depth ? rows.n : rows.inner) *= shape[i];
  rows.index.resize(count);
  const auto read = [&]<typename T>(const T* values) {
    for (int64_t k = 0; k < count; ++k) {
      int64_t row = 0;
      for (int64_t d = 0; d < depth; ++d) {
        const int64_t n = shape[static_cast<int>(d)];
        int64_t i = values[k * depth + d];
        if (i < -n || i >= n) {
          FailIndex(op, i, k * depth + d, index.shape(), n, static_cast<int>(d),
                    true);
        }
        row = row * n + (i < 0 ? i + n : i);
      }
      rows.index[k] = row;
    }
  };
  if (index.dtype() == DType::kInt32) {
    read(index.data<int32_t>());
  } else {
    read(index.data<int64_t>());
  }
  return rows;
}

// In place, out is x already.
void StartFrom(const Tensor& x, Tensor* out) {
  if (out->raw_data() != x.raw_data()) CopyElements(x, *out);
}

}  // namespace

void Gather(const KernelContext&, const Tensor& x, const Tensor& index,
            int64_t axis, Tensor* out) {
  const AlongAxis a = InOneOrder(x, *out, axis);
  const AxisDims d = DimsAt(a.x.shape(), a.axis);
  const Tensor places = Contiguous(index);
  const IndexList list("gather", places, d.n,
                       NormalizeAxis("gather", axis, x.rank()));
  GatherRows(d.outer, d.n, d.inner * ItemSize(x.dtype()), list.values(),
             a.x.raw_data(), a.out.raw_data());
}

void GatherGrad(const KernelContext&, const Tensor& dy, const Tensor& index,
                const IntArray&, int64_t axis, Tensor* out) {
  const AlongAxis a = InOneOrder(dy, *out, axis);
  const AxisDims d = DimsAt(a.out.shape(), a.axis);
  const Tensor places = Contiguous(index);
  const IndexList list("gather_grad", places, d.n,
                       NormalizeAxis("gather", axis, out->rank()));
  Zero(*out);
  ScatterAddRows(dy.dtype(), d.outer, d.n, d.inner, list.values(),
                 a.x.raw_data(), a.out.raw_data());
}

void GatherNd(const KernelContext&, const Tensor& x, const Tensor& index,
              Tensor* out) {
  const NdRows rows = RowsOf("gather_nd", index, x.shape());
  GatherRows(1, rows.n, rows.inner * ItemSize(x.dtype()), rows.index,
             x.raw_data(), out->raw_data());
}

void ScatterNd(const KernelContext&, const Tensor& index, const Tensor& updates,
               const IntArray&, Tensor* out) {
  const NdRows rows = RowsOf("scatter_nd", index, out->shape());
  Zero(*out);
  ScatterAddRows(out->dtype(), 1, rows.n, rows.inner, rows.index,
                 updates.raw_data(), out->raw_data());
}

void ScatterNdAdd(const KernelContext&, const Tensor& x, const Tensor& index,
                  const Tensor& updates, Tensor* out) {
  const NdRows rows = RowsOf("scatter_nd_add", index, x.shape());
  StartFrom(x, out);
  ScatterAddRows(out->dtype(), 1, rows.n, rows.inner, rows.index,
                 updates.raw_data(), out->raw_data());
}

void Scatter(const KernelContext&, const Tensor& x, const Tensor& index,
             const Tensor& updates, bool overwrite, Tensor* out) {
  const AxisDims d = DimsAt(x.shape(), 0);
  const IndexList list("scatter", index, d.n, 0);
  const int64_t row_bytes = d.inner * ItemSize(x.dtype());
  StartFrom(x, out);
  if (out->numel() == 0) return;
  if (overwrite) {
    return ScatterRows(1, d.n, row_bytes, list.values(), updates.raw_data(),
                       out->raw_data());
  }
  for (int64_t i : list.values()) {
    std::memset(out->data<char>() + i * row_bytes, 0, row_bytes);
  }
  ScatterAddRows(x.dtype(), 1, d.n, d.inner, list.values(), updates.raw_data(),
                 out->raw_data());
}

void ScatterGrad(const KernelContext&, const Tensor& dy, const Tensor& index,
                 Tensor* out) {
  const AxisDims d = DimsAt(dy.shape(), 0);
  const IndexList list("scatter_grad", index, d.n, 0);
  const int64_t row_bytes = d.inner * ItemSize(dy.dtype());
  CopyElements(dy, *out);
  if (out->numel() == 0) return;
  for (int64_t i : list.values()) {
    std::memset(out->data<char>() + i * row_bytes, 0, row_bytes);
  }
}

void ScatterUpdatesGrad(const KernelContext&, const Tensor& dy,
                        const Tensor& index, bool overwrite, Tensor* out) {
  const AxisDims d = DimsAt(dy.shape(), 0);
  const IndexList list("scatter_updates_grad", index, d.n, 0);
  const int64_t row_bytes = d.inner * ItemSize(dy.dtype());
  if (out->numel() == 0) return;
  GatherRows(1, d.n, row_bytes, list.values(), dy.raw_data(), out->raw_data());
  if (!overwrite) return;
  const std::vector<bool> last = LastWriters(list.values(), d.n);
  for (int64_t k = 0; k < list.size(); ++k) {
    if (!last[k]) std::memset(out->data<char>() + k * row_bytes, 0, row_bytes);
  }
}

}  // namespace proa::inline v0::ops::cpu
