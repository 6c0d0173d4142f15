#include "ops/linalg/gemm_onednn.h"

#include <algorithm>

#include "ops/onednn/descriptor.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/threads.h"
#include "tensor/storage.h"

namespace proa::inline v0::ops {
namespace {

using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKey;
using onednn::PrimitiveKind;

// oneDNN takes 12 dims, its fast kernels fewer; more batch dims are rare.
constexpr int kMaxBatchDims = 4;

// One operand as oneDNN sees it: [batch..., rows, columns].
struct Matrix {
  DimVector dims;
  DimVector strides;
};

bool OneIsDense(int64_t rows, int64_t columns, int64_t row_stride,
                int64_t column_stride) {
  const bool by_rows = (columns == 1 || column_stride == 1) &&
                       (rows == 1 || row_stride >= columns);
  const bool by_columns =
      (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return by_rows || by_columns;
}

// Batch strides must be positive and not smaller than a matrix can be.
bool CanBeReadInPlace(const DimVector& batch, const GemmOperand& x,
                      int64_t rows, int64_t columns) {
  if (!OneIsDense(rows, columns, x.row_stride, x.column_stride)) return false;
  for (size_t d = 0; d < batch.size(); ++d)
    if (x.batch_strides[d] < 0) return false;
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

template <typename T>
void Pack(const T* source, const DimVector& dims, const DimVector& strides,
          size_t d, T*& to) {
  const int64_t n = dims[d], s = strides[d];
  if (d + 1 == dims.size()) {
    for (int64_t i = 0; i < n; ++i) *to++ = source[i * s];
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    Pack(source + i * s, dims, strides, d + 1, to);
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

Matrix Dense(DimVector dims) {
  const Strides strides = ContiguousStrides(Shape(dims));
  return {std::move(dims), strides};
}

// A dense copy of the elements.
IntrusivePtr<Storage> Packed(const DimVector& batch, const GemmOperand& x,
                             int64_t rows, int64_t columns, DType dtype) {
  const DimVector dims = DenseDims(batch, x, rows, columns);
  DimVector strides(x.batch_strides);
  strides.insert(strides.end(), {x.row_stride, x.column_stride});
  IntrusivePtr<Storage> buffer =
      Storage::Allocate(Shape(dims).numel() * ItemSize(dtype), Place());
  if (ItemSize(dtype) == 4) {
    auto* to = static_cast<float*>(buffer->data());
    Pack(static_cast<const float*>(x.data), dims, strides, 0, to);
  } else {
    auto* to = static_cast<uint16_t*>(buffer->data());
    Pack(static_cast<const uint16_t*>(x.data), dims, strides, 0, to);
  }
  return buffer;
}

Matrix Operand(const DimVector& batch, const GemmOperand& x, int64_t rows,
               int64_t columns) {
  if (CanBeReadInPlace(batch, x, rows, columns))
    return InPlace(batch, x, rows, columns);
  return Dense(DenseDims(batch, x, rows, columns));
}

std::span<const int64_t> Span(const DimVector& v) {
  return {v.data(), v.size()};
}

dnnl::memory::desc Descriptor(const Matrix& m, DType dtype) {
  return onednn::Descriptor(Span(m.dims), Span(m.strides), dtype);
}

Primitive MakeMatMul(const GemmProblem& p) {
  const auto a_desc = Descriptor(Operand(p.batch, p.a, p.m, p.k), p.dtype);
  const auto b_desc = Descriptor(Operand(p.batch, p.b, p.k, p.n), p.dtype);
  DimVector c_dims(p.batch);
  c_dims.insert(c_dims.end(), {p.m, p.n});
  const auto c_desc = Descriptor(Dense(c_dims), p.dtype);
  const auto attr = onednn::UserScratchpad();
  if (p.bias == nullptr) {
    dnnl::matmul::primitive_desc pd({a_desc, b_desc, c_desc}, attr,
                                    onednn::Engine());
    return Primitive::Of<dnnl::matmul>(
        pd, {{DNNL_ARG_SRC}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DST}});
  }
  DimVector bias_dims(c_dims.size(), 1);
  bias_dims.back() = p.n;
  const auto bias_desc = onednn::Descriptor(Span(bias_dims), p.dtype);
  dnnl::matmul::primitive_desc pd({a_desc, b_desc, bias_desc, c_desc}, attr,
                                  onednn::Engine());
  return Primitive::Of<dnnl::matmul>(
      pd,
      {{DNNL_ARG_SRC}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_BIAS}, {DNNL_ARG_DST}});
}

// All that the matrices follow from, in few words: hashing them is what a small
// product waits for.
PrimitiveKey KeyOf(const GemmProblem& p) {
  PrimitiveKey key(PrimitiveKind::kMatMul);
  key.Add(static_cast<int64_t>(p.dtype) * 2 + (p.bias != nullptr));
  key.Add(int64_t{onednn::NumThreads()});
  key.Add(p.m);
  key.Add(p.n);
  key.Add(p.k);
  for (const GemmOperand* x : {&p.a, &p.b}) {
    key.Add(x->row_stride);
    key.Add(x->column_stride);
  }
  for (size_t d = 0; d < p.batch.size(); ++d) {
    key.Add(p.batch[d]);
    key.Add(p.a.batch_strides[d]);
    key.Add(p.b.batch_strides[d]);
  }
  return key;
}

// What oneDNN reads of an operand: its own memory, or that of a dense copy.
void* Data(const DimVector& batch, const GemmOperand& x, int64_t rows,
           int64_t columns, DType dtype, IntrusivePtr<Storage>& buffer) {
  if (CanBeReadInPlace(batch, x, rows, columns))
    return const_cast<void*>(x.data);
  buffer = Packed(batch, x, rows, columns, dtype);
  return buffer->data();
}

bool Run(const GemmProblem& p) {
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(p), [&] { return MakeMatMul(p); });
  if (!primitive->supported()) return false;
  IntrusivePtr<Storage> a_buffer, b_buffer;
  void* a = Data(p.batch, p.a, p.m, p.k, p.dtype, a_buffer);
  void* b = Data(p.batch, p.b, p.k, p.n, p.dtype, b_buffer);
  if (p.bias != nullptr) {
    primitive->Execute({{DNNL_ARG_SRC, a},
                        {DNNL_ARG_WEIGHTS, b},
                        {DNNL_ARG_BIAS, const_cast<void*>(p.bias)},
                        {DNNL_ARG_DST, p.c}});
  } else {
    primitive->Execute(
        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, p.c}});
  }
  return true;
}

}  // namespace

bool GemmOneDnn(const GemmProblem& p) {
  if (p.batch.size() <= kMaxBatchDims) return Run(p);
  // The outermost dim by hand.
  GemmProblem part = p;
  const auto drop_first = [](DimVector& v) { v.erase(v.begin()); };
  drop_first(part.batch);
  drop_first(part.a.batch_strides);
  drop_first(part.b.batch_strides);
  int64_t c_step = p.m * p.n;
  for (int64_t d : part.batch) c_step *= d;
  const int64_t item = ItemSize(p.dtype);
  for (int64_t i = 0; i < p.batch[0]; ++i) {
    part.a.data =
        static_cast<const char*>(p.a.data) + i * p.a.batch_strides[0] * item;
    part.b.data =
        static_cast<const char*>(p.b.data) + i * p.b.batch_strides[0] * item;
    part.c = static_cast<char*>(p.c) + i * c_step * item;
    if (!GemmOneDnn(part)) return false;
  }
  return true;
}

}  // namespace proa::inline v0::ops
