#include "ops/linalg/gemm_call.h"

#include <span>

#include "ops/linalg/gemm_operands.h"
#include "ops/onednn/descriptor.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/packed_weights.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/threads.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops {
namespace {

using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKey;
using onednn::PrimitiveKind;

std::span<const int64_t> Span(const DimVector& v) {
  return {v.data(), v.size()};
}

dnnl::memory::desc Descriptor(const Matrix& m, DType dtype) {
  return onednn::Descriptor(Span(m.dims), Span(m.strides), dtype);
}

// `c_row_stride` is more than n where C is a part of the columns of a matrix;
// then there is no batch. `any_order`: B in whatever order is fastest.
Primitive MakeMatMul(const GemmProblem& p, int64_t c_row_stride,
                     bool any_order = false) {
  const auto a_desc = Descriptor(InPlace(p.batch, p.a, p.m, p.k), p.dtype);
  const auto b_desc =
      any_order ? dnnl::memory::desc({p.k, p.n}, onednn::DataType(p.dtype),
                                     dnnl::memory::format_tag::any)
                : Descriptor(InPlace(p.batch, p.b, p.k, p.n), p.dtype);
  DimVector c_dims(p.batch);
  c_dims.insert(c_dims.end(), {p.m, p.n});
  Matrix c = Dense(c_dims);
  c.strides[c_dims.size() - 2] = c_row_stride;
  const auto c_desc = Descriptor(c, p.ResultType());
  const auto attr = onednn::UserScratchpad();
  if (p.bias == nullptr) {
    dnnl::matmul::primitive_desc pd({a_desc, b_desc, c_desc}, attr,
                                    onednn::Engine());
    return Primitive::Of<dnnl::matmul>(
        pd, {{DNNL_ARG_SRC}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DST, {}, true}});
  }
  DimVector bias_dims(c_dims.size(), 1);
  bias_dims.back() = p.n;
  const auto bias_desc = onednn::Descriptor(Span(bias_dims), p.ResultType());
  dnnl::matmul::primitive_desc pd({a_desc, b_desc, bias_desc, c_desc}, attr,
                                  onednn::Engine());
  return Primitive::Of<dnnl::matmul>(pd, {{DNNL_ARG_SRC},
                                          {DNNL_ARG_WEIGHTS},
                                          {DNNL_ARG_BIAS},
                                          {DNNL_ARG_DST, {}, true}});
}

// All that the matrices follow from, in few words: hashing them is what a small
// product waits for.
PrimitiveKey KeyOf(const GemmProblem& p, int64_t c_row_stride) {
  PrimitiveKey key(PrimitiveKind::kMatMul);
  key.Add(static_cast<int64_t>(p.dtype) * 4 + p.float_result * 2 +
          (p.bias != nullptr));
  key.Add(int64_t{onednn::NumThreads()});
  key.Add(p.m);
  key.Add(p.n);
  key.Add(p.k);
  key.Add(c_row_stride);
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

// `b`: as the primitive wants it.
void Execute(const Primitive& primitive, const GemmProblem& p, void* b) {
  void* a = const_cast<void*>(p.a.data);
  if (p.bias != nullptr) {
    primitive.Execute({{DNNL_ARG_SRC, a},
                       {DNNL_ARG_WEIGHTS, b},
                       {DNNL_ARG_BIAS, const_cast<void*>(p.bias)},
                       {DNNL_ARG_DST, p.c}});
  } else {
    primitive.Execute(
        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, p.c}});
  }
}

}  // namespace

bool CallGemm(const GemmProblem& p, int64_t c_row_stride) {
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(p, c_row_stride), [&] { return MakeMatMul(p, c_row_stride); });
  if (!primitive->supported()) return false;
  Execute(*primitive, p, const_cast<void*>(p.b.data));
  return true;
}

bool CallGemmOfKept(const GemmProblem& p) {
  PrimitiveKey key = KeyOf(p, p.n);
  key.Add(int64_t{1});
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      key, [&] { return MakeMatMul(p, p.n, /*any_order=*/true); });
  if (!primitive->supported()) return false;
  const onednn::PackedWeights packed(
      *p.weight,
      onednn::PackFormat{Descriptor(InPlace({}, p.b, p.k, p.n), p.dtype),
                         primitive->desc(DNNL_ARG_WEIGHTS)});
  Execute(*primitive, p, packed.data());
  return true;
}

}  // namespace proa::inline v0::ops
