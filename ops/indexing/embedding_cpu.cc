// Kernels of tables looked up by id.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/indexing/embedding_kernels.h"
#include "ops/primitives/cpu/gather.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops::cpu {

void Embedding(const KernelContext&, const Tensor& x, const Tensor& weight,
               int64_t padding_idx, bool, Tensor* out) {
  const IndexList ids("embedding", x, weight.size(0), 0, /*negative=*/false);
  const int64_t row_bytes = weight.size(1) * ItemSize(weight.dtype());
  GatherRows(1, weight.size(0), row_bytes, ids.values(), weight.raw_data(),
             out->raw_data());
  if (padding_idx == -1 || out->numel() == 0) return;
  for (int64_t k = 0; k < ids.size(); ++k) {
    if (ids[k] == padding_idx) {
      std::memset(out->data<char>() + k * row_bytes, 0, row_bytes);
    }
  }
}

void EmbeddingGrad(const KernelContext&, const Tensor& dy, const Tensor& x,
                   const IntArray&, int64_t padding_idx, Tensor* out) {
  const int64_t n = out->size(0), inner = out->size(1);
  const IndexList ids("embedding_grad", x, n, 0, /*negative=*/false);
  Zero(*out);
  ScatterAddRows(dy.dtype(), 1, n, inner, ids.values(), dy.raw_data(),
                 out->raw_data());
  // What the padding row gathered is thrown away: one row, not a test for each
  // id.
  if (padding_idx >= 0 && padding_idx < n && inner > 0) {
    const int64_t row_bytes = inner * ItemSize(dy.dtype());
    std::memset(out->data<char>() + padding_idx * row_bytes, 0, row_bytes);
  }
}

void EmbeddingRowsGrad(const KernelContext&, const Tensor& dy, const Tensor& x,
                       const IntArray& shape, int64_t padding_idx,
                       Tensor* out) {
  const int64_t n = shape.values()[0], inner = shape.values()[1];
  const IndexList ids("embedding_rows_grad", x, n, 0, /*negative=*/false);
  const int64_t kept =
      ids.size() - std::ranges::count(ids.values(), padding_idx);
  // A copy: ids are often a buffer that the next batch overwrites.
  const Tensor rows = Tensor::Empty({kept}, DType::kInt64);
  std::ranges::copy_if(ids.values(), rows.data<int64_t>(),
                       [&](int64_t id) { return id != padding_idx; });
  if (kept == ids.size()) {
    const Shape values{kept, inner};
    *out = MakeRowSparse(
        rows,
        Tensor::FromStorage(dy.storage(), dy.dtype(), values,
                            ContiguousStrides(values), dy.storage_offset()),
        n);
    return;
  }
  const Tensor values = Tensor::Empty({kept, inner}, dy.dtype());
  const int64_t row_bytes = inner * ItemSize(dy.dtype());
  char* to = values.data<char>();
  for (int64_t k = 0; k < ids.size() && row_bytes > 0; ++k) {
    if (ids[k] == padding_idx) continue;
    std::memcpy(to, dy.data<char>() + k * row_bytes, row_bytes);
    to += row_bytes;
  }
  *out = MakeRowSparse(rows, values, n);
}

void OneHot(const KernelContext&, const Tensor& x, int64_t num_classes, DType,
            Tensor* out) {
  const IndexList ids("one_hot", x, num_classes, x.rank(), /*negative=*/false);
  Zero(*out);
  VisitDType(out->dtype(), [&]<typename T>(TypeTag<T>) {
    T* to = out->data<T>();
    const T one = Scalar(int64_t{1}).to<T>();
    for (int64_t k = 0; k < ids.size(); ++k) to[k * num_classes + ids[k]] = one;
  });
}

}  // namespace proa::inline v0::ops::cpu
