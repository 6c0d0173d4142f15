#include "ops/linalg/gemm_operands.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/onednn/packed_weights.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {
namespace {

bool OneIsDense(int64_t rows, int64_t columns, int64_t row_stride,
                int64_t column_stride) {
  const bool by_rows = (columns == 1 || column_stride == 1) &&
                       (rows == 1 || row_stride >= columns);
  const bool by_columns =
      (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return by_rows || by_columns;
}

// Broadcast batch dims stay broadcast.
DimVector DenseDims(const DimVector& batch, const GemmOperand& x, int64_t rows,
                    int64_t columns) {
  DimVector dims;
  for (size_t d = 0; d < batch.size(); ++d)
    dims.push_back(x.batch_strides[d] == 0 ? 1 : batch[d]);
  dims.insert(dims.end(), {rows, columns});
  return dims;
}

// A dense copy of the elements.
IntrusivePtr<Storage> Packed(const DimVector& batch, const GemmOperand& x,
                             int64_t rows, int64_t columns, DType dtype) {
  const DimVector dims = DenseDims(batch, x, rows, columns);
  const Shape shape(dims);
  Strides strides(x.batch_strides.begin(), x.batch_strides.end());
  strides.insert(strides.end(), {x.row_stride, x.column_stride});
  IntrusivePtr<Storage> buffer =
      Storage::Allocate(shape.numel() * ItemSize(dtype), Place());
  cpu::StridedCopy(shape, ItemSize(dtype), buffer->data(),
                   ContiguousStrides(shape), x.data, strides);
  return buffer;
}

}  // namespace

bool IsDense(const GemmOperand& x, int64_t rows, int64_t columns) {
  return (x.column_stride == 1 && x.row_stride == columns) ||
         (x.row_stride == 1 && x.column_stride == rows);
}

bool CanBeReadInPlace(const DimVector& batch, const GemmOperand& x,
                      int64_t rows, int64_t columns) {
  if (!OneIsDense(rows, columns, x.row_stride, x.column_stride)) return false;
  for (size_t d = 0; d < batch.size(); ++d)
    if (x.batch_strides[d] < 0) return false;
  return true;
}

bool IsNested(const DimVector& batch, const GemmOperand& x, int64_t rows,
              int64_t columns) {
  if (batch.empty()) return true;
  absl::InlinedVector<std::pair<int64_t, int64_t>, 8> steps;  // stride, dim
  const auto add = [&](int64_t stride, int64_t dim) {
    if (dim > 1 && stride != 0) steps.emplace_back(stride, dim);
  };
  add(x.row_stride, rows);
  add(x.column_stride, columns);
  for (size_t d = 0; d < batch.size(); ++d) add(x.batch_strides[d], batch[d]);
  std::sort(steps.begin(), steps.end());
  int64_t least = 1;
  for (const auto& [stride, dim] : steps) {
    if (stride < least) return false;
    least = stride * dim;
  }
  return true;
}

Matrix InPlace(const DimVector& batch, const GemmOperand& x, int64_t rows,
               int64_t columns) {
  Matrix m;
  for (size_t d = 0; d < batch.size(); ++d) {
    m.dims.push_back(x.batch_strides[d] == 0 ? 1 : batch[d]);
    m.strides.push_back(x.batch_strides[d]);
  }
  m.dims.push_back(rows);
  m.dims.push_back(columns);
  m.strides.push_back(x.row_stride);
  m.strides.push_back(x.column_stride);
  // A one-element dim may come with any stride: make it that of a dense matrix.
  const size_t r = batch.size(), c = r + 1;
  if (rows == 1) m.strides[r] = m.strides[c] == 1 ? columns : 1;
  if (columns == 1) m.strides[c] = m.strides[r] == 1 && rows > 1 ? rows : 1;
  int64_t dense = rows * columns;
  for (int d = static_cast<int>(r) - 1; d >= 0; --d) {
    if (m.dims[d] == 1) m.strides[d] = dense;
    dense = std::max(dense, m.dims[d] * m.strides[d]);
  }
  return m;
}

Matrix Dense(DimVector dims) {
  const Strides strides = ContiguousStrides(Shape(dims));
  return {std::move(dims), strides};
}

GemmOperand ByRows(const DimVector& batch, const GemmOperand& x, int64_t rows,
                   int64_t columns, DType dtype,
                   IntrusivePtr<Storage>& buffer) {
  buffer = Packed(batch, x, rows, columns, dtype);
  GemmOperand dense;
  dense.data = buffer->data();
  const Strides strides =
      ContiguousStrides(Shape(DenseDims(batch, x, rows, columns)));
  dense.row_stride = strides[batch.size()];
  dense.column_stride = 1;
  for (size_t d = 0; d < batch.size(); ++d)
    dense.batch_strides.push_back(x.batch_strides[d] == 0 ? 0 : strides[d]);
  return dense;
}

GemmOperand Readable(const DimVector& batch, const GemmOperand& x, int64_t rows,
                     int64_t columns, DType dtype,
                     IntrusivePtr<Storage>& buffer) {
  if (CanBeReadInPlace(batch, x, rows, columns)) return x;
  return ByRows(batch, x, rows, columns, dtype, buffer);
}

GemmOperand Padded(const DimVector& batch, const GemmOperand& x, int64_t rows,
                   int64_t columns, int64_t more_rows, int64_t more_columns,
                   IntrusivePtr<Storage>& buffer) {
  const int64_t wide = columns + more_columns, size = (rows + more_rows) * wide;
  const DimVector dims = DenseDims(batch, x, rows, columns);
  int64_t entries = 1;
  GemmOperand padded;
  padded.row_stride = wide;
  padded.column_stride = 1;
  padded.batch_strides.resize(batch.size());
  for (size_t d = batch.size(); d-- > 0;) {
    padded.batch_strides[d] = x.batch_strides[d] == 0 ? 0 : entries * size;
    entries *= dims[d];
  }
  buffer = Storage::Allocate(
      entries * size * static_cast<int64_t>(sizeof(uint16_t)), Place());
  auto* const to = static_cast<uint16_t*>(buffer->data());
  std::memset(to, 0, entries * size * sizeof(uint16_t));
  for (int64_t e = 0; e < entries; ++e) {
    const auto* from = static_cast<const uint16_t*>(x.data);
    int64_t rest = e;
    for (size_t d = batch.size(); d-- > 0; rest /= dims[d])
      from += rest % dims[d] * x.batch_strides[d];
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j)
        to[e * size + i * wide + j] =
            from[i * x.row_stride + j * x.column_stride];
    }
  }
  padded.data = to;
  return padded;
}

bool CanBeKept(const GemmProblem& p) {
  return p.weight != nullptr && p.batch.empty() &&
         p.b.data == p.weight->raw_data() && p.weight->is_contiguous() &&
         p.weight->numel() == p.k * p.n && IsDense(p.b, p.k, p.n) &&
         onednn::Predicts(*p.weight);
}

}  // namespace proa::inline v0::ops
