// The weight gradient through oneDNN, with the same bits for any number of
// threads. oneDNN would divide the pixels by its thread count; so they are
// divided here, by sizes alone, into parts of one thread each, and what the
// parts give is added up in their order.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "ops/linalg/gemm.h"
#include "ops/nn/conv_defects.h"
#include "ops/nn/conv_onednn.h"
#include "ops/nn/conv_problem.h"
#include "ops/nn/depthwise_weight_grad.h"
#include "ops/nn/matrix_columns.h"
#include "ops/nn/strided_pixels.h"
#include "ops/nn/weight_grad_parts.h"
#include "ops/nn/weight_grad_products.h"
#include "ops/nn/weight_grad_sums.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/sgemm.h"
#include "ops/onednn/threads.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKind;
using Compiled = std::shared_ptr<const Primitive>;

// Weight gradients are summed in float32, whatever the images are of.
ConvProblem DescribeWeightGrad(const ConvGeometry& g, DType dtype) {
  ConvProblem p = DescribeConv(g, dtype);
  p.weight.data.data_type = dnnl_f32;
  return p;
}

Primitive Make(const ConvGeometry& g, DType dtype) {
  const ConvProblem p = DescribeWeightGrad(g, dtype);
  const dnnl::convolution_backward_weights::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, p.x, p.weight, p.y, p.stride,
       p.dilation, p.pad_before, p.pad_after},
      onednn::UserScratchpad(), onednn::Engine(),
      ForwardDesc(DescribeConv(g, dtype), false));
  return Primitive::Of<dnnl::convolution_backward_weights>(
      pd, {{DNNL_ARG_SRC},
           {DNNL_ARG_DIFF_DST},
           {DNNL_ARG_DIFF_WEIGHTS, ConvWeightDesc(g, DType::kFloat32, false),
            true}});
}

Compiled Find(const ConvGeometry& g, DType dtype) {
  const onednn::SerialScope serial;
  return PrimitiveCache::Global().FindOrMake(
      ConvKey(PrimitiveKind::kConvolutionWeightGrad, g, dtype, false, 1),
      [&] { return Make(g, dtype); });
}

// c[o, i] = sum over the part's pixels of y[pixel, o] * x[pixel, i]
void MultiplyPart(const WeightGradPart& part, const float* y, int64_t o,
                  const float* x, int64_t i, float* c) {
  const int64_t rows = part.rows.size();
  const MatrixColumns a(y + part.rows.begin * o, rows, o, part.channels.begin,
                        part.channels.size());
  const MatrixColumns b(x + part.rows.begin * i, rows, i, 0, i);
  onednn::Sgemm({.transpose_a = true,
                 .m = part.channels.size(),
                 .n = i,
                 .k = rows,
                 .a = a.data(),
                 .lda = a.step(),
                 .b = b.data(),
                 .ldb = b.step(),
                 .c = c,
                 .ldc = i});
}

void MultiplyPart(const WeightGradPart& part, const bfloat16* y, int64_t o,
                  const bfloat16* x, int64_t i, float* c) {
  GemmProblem p;
  p.dtype = DType::kBFloat16;
  p.float_result = true;
  p.m = part.channels.size();
  p.n = i;
  p.k = part.rows.size();
  p.a.data = y + part.rows.begin * o + part.channels.begin;
  p.a.row_stride = 1;
  p.a.column_stride = o;
  p.b.data = x + part.rows.begin * i;
  p.b.row_stride = i;
  p.b.column_stride = 1;
  p.c = c;
  Gemm(p);
}

// weight[o, i] = sum over pixels of y[pixel, o] * x[pixel, i]
template <typename T>
void PointwiseWeightGrad(const ConvGeometry& image, const ConvData& data) {
  ConvGeometry g = image;  // one column of all pixels
  g.in[0] = g.out[0] = g.batch * g.out_pixels();
  g.batch = g.in[1] = g.out[1] = g.in[2] = g.out[2] = 1;
  const int64_t o = g.out_channels, i = g.in_channels;
  const WeightGradParts parts(g, WeightGradParts::Way::kProduct);
  const WeightGradSums sums(data.weight, parts.sums());
  parallel_for(0, parts.count(), 1, [&](int64_t begin, int64_t end) {
    const onednn::SerialScope serial;
    for (int64_t k = begin; k < end; ++k) {
      const WeightGradPart part = parts[k];
      MultiplyPart(part, data.y.data<T>(), o, data.x.data<T>(), i,
                   sums[parts.sum_of(k)] + part.channels.begin * i);
    }
  });
  sums.AddUp();
}

// The taps that see padding only: oneDNN leaves some of them as they were.
void ClearDeadTaps(const ConvGeometry& g, float* weight) {
  const int64_t taps = g.taps();
  const int64_t filters = g.out_channels * g.in_channels_per_group();
  // Those at position p of dim d lie side by side, `behind` in each block.
  int64_t behind = taps;
  for (int d = 0; d < g.dims(); ++d) {
    const int64_t size = g.window.kernel[d], block = behind;
    behind /= size;
    for (int64_t p = 0; p < size; ++p) {
      if (!SeesPaddingOnly(g, d, p)) continue;
      for (int64_t k = 0; k < filters * taps; k += block)
        std::fill_n(weight + k + p * behind, behind, 0.f);
    }
  }
}

// One part, compiled.
struct Task {
  ConvGeometry g;
  Compiled primitive;                // null if it sees padding only
  int64_t x_start, y_start, y_size;  // in elements
  PartRange channels;
  float* sum;
};

// The elements of y that the task reads, with its channels side by side.
Tensor OutputsOf(const Task& t, const Tensor& y) {
  const int64_t all = y.size(y.rank() - 1), some = t.channels.size();
  const int64_t item = ItemSize(y.dtype());
  const Tensor out = Tensor::Empty({t.y_size, some}, y.dtype());
  const char* from =
      y.data<char>() + (t.y_start * all + t.channels.begin) * item;
  char* to = out.data<char>();
  for (int64_t k = 0; k < t.y_size; ++k)
    std::memcpy(to + k * some * item, from + k * all * item,
                static_cast<size_t>(some * item));
  return out;
}

void RunTask(const Task& t, const ConvData& data) {
  if (t.primitive == nullptr) {
    std::fill_n(t.sum, t.g.WeightShape().numel(), 0.f);
    return;
  }
  const int64_t item = ItemSize(data.x.dtype());
  Tensor copy;
  char* y = data.y.data<char>();
  const int64_t channels = data.y.size(data.y.rank() - 1);
  if (t.channels.size() < channels) {
    copy = OutputsOf(t, data.y);
    y = copy.data<char>();
  } else {
    y += t.y_start * channels * item;
  }
  t.primitive->Execute({{DNNL_ARG_SRC, data.x.data<char>() + t.x_start * item},
                        {DNNL_ARG_DIFF_DST, y},
                        {DNNL_ARG_DIFF_WEIGHTS, t.sum}});
  ClearDeadTaps(t.g, t.sum);
}

// False if oneDNN has no kernel.
bool Compile(const ConvGeometry& g, DType dtype, const WeightGradParts& parts,
             const WeightGradSums& sums, std::vector<Task>* tasks) {
  const int64_t filter = g.WeightShape().numel() / g.out_channels;
  for (int64_t k = 0; k < parts.count(); ++k) {
    const WeightGradPart part = parts[k];
    int64_t row = 0;
    Task t;
    t.g = GeometryOfPart(g, part, &row);
    if (t.g.in[0] > 0) {
      if (!OneDnnWeightGradIsRight(t.g, dtype)) return false;
      t.primitive = Find(t.g, dtype);
      if (!HasKernel(*t.primitive)) return false;
    }
    const int64_t row_size = g.out[1] * g.out[2];
    t.x_start =
        (part.images.begin * g.in[0] + row) * g.in[1] * g.in[2] * g.in_channels;
    t.y_start = (part.images.begin * g.out[0] + part.rows.begin) * row_size;
    t.y_size = part.images.size() * part.rows.size() * row_size;
    t.channels = part.channels;
    t.sum = sums[parts.sum_of(k)] + part.channels.begin * filter;
    tasks->push_back(std::move(t));
  }
  return true;
}

// Whether each is a kernel for channels by themselves.
bool AreDepthwise(const std::vector<Task>& tasks) {
  return std::all_of(tasks.begin(), tasks.end(), [](const Task& t) {
    return t.primitive == nullptr ||
           t.primitive->implementation().starts_with("jit_dw");
  });
}

}  // namespace

bool ConvWeightGradOneDnn(const ConvGeometry& g, const ConvData& data) {
  if (IsStridedPointwise(g)) {
    const Tensor taken = TakePixels(g, data.x);
    return ConvWeightGradOneDnn(OnTakenPixels(g),
                                {taken, data.weight, data.bias, data.y});
  }
  const DType dtype = data.x.dtype();
  if (IsPointwise(g) && g.groups == 1) {
    if (dtype == DType::kFloat32) {
      PointwiseWeightGrad<float>(g, data);
      return true;
    }
    // oneDNN's own would turn x round for each part of the channels.
    if (dtype == DType::kBFloat16 && MultipliesBFloat16()) {
      PointwiseWeightGrad<bfloat16>(g, data);
      return true;
    }
  }
  if (dtype == DType::kFloat32 && SuitsProducts(g)) {
    WeightGradByProducts(g, data);
    return true;
  }
  const bool depthwise = IsDepthwise(g);
  if (depthwise && !OneDnnMayHaveDepthwise(g)) {
    DepthwiseWeightGrad(g, data);
    return true;
  }
  const WeightGradParts parts(g);
  const WeightGradSums sums(data.weight, parts.sums());
  std::vector<Task> tasks;
  const bool compiled = Compile(g, dtype, parts, sums, &tasks);
  if (depthwise && !(compiled && AreDepthwise(tasks))) {
    DepthwiseWeightGrad(g, data);
    return true;
  }
  if (!compiled) {
    if (dtype != DType::kFloat32 || g.groups > 1) return false;
    WeightGradByProducts(g, data);
    return true;
  }
  parallel_for(0, parts.count(), 1, [&](int64_t begin, int64_t end) {
    const onednn::SerialScope serial;
    for (int64_t k = begin; k < end; ++k) RunTask(tasks[k], data);
  });
  sums.AddUp();
  return true;
}

}  // namespace proa::inline v0::ops
