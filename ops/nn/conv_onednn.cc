#include "ops/nn/conv_onednn.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "ops/linalg/gemm.h"
#include "ops/linalg/longest_low_sum.h"
#include "ops/nn/conv_defects.h"
#include "ops/nn/conv_problem.h"
#include "ops/nn/few_channels.h"
#include "ops/nn/strided_pixels.h"
#include "ops/nn/weight_grad_parts.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/packed_weights.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/threads.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

using onednn::PackedWeights;
using onednn::PackFormat;
using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKind;

Primitive MakeForward(const ConvGeometry& g, DType dtype, bool has_bias) {
  const auto pd = ForwardDesc(DescribeConv(g, dtype), has_bias);
  if (has_bias) {
    return Primitive::Of<dnnl::convolution_forward>(pd,
                                                    {{DNNL_ARG_SRC},
                                                     {DNNL_ARG_WEIGHTS},
                                                     {DNNL_ARG_BIAS},
                                                     {DNNL_ARG_DST, {}, true}});
  }
  return Primitive::Of<dnnl::convolution_forward>(
      pd, {{DNNL_ARG_SRC}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DST, {}, true}});
}

Primitive MakeInputGrad(const ConvGeometry& g, DType dtype) {
  const ConvProblem p = DescribeConv(g, dtype);
  const dnnl::convolution_backward_data::primitive_desc pd(
      {dnnl::algorithm::convolution_direct, p.x, p.weight, p.y, p.stride,
       p.dilation, p.pad_before, p.pad_after},
      onednn::UserScratchpad(), onednn::Engine(), ForwardDesc(p, false));
  return Primitive::Of<dnnl::convolution_backward_data>(
      pd,
      {{DNNL_ARG_DIFF_DST}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DIFF_SRC, {}, true}});
}

std::shared_ptr<const Primitive> Forward(const ConvGeometry& g, DType dtype,
                                         bool has_bias) {
  return PrimitiveCache::Global().FindOrMake(
      ConvKey(PrimitiveKind::kConvolution, g, dtype, has_bias,
              onednn::NumThreads()),
      [&] { return MakeForward(g, dtype, has_bias); });
}

std::shared_ptr<const Primitive> InputGrad(const ConvGeometry& g, DType dtype) {
  return PrimitiveCache::Global().FindOrMake(
      ConvKey(PrimitiveKind::kConvolutionInputGrad, g, dtype, false,
              onednn::NumThreads()),
      [&] { return MakeInputGrad(g, dtype); });
}

// The primitives of parts, in their order; none if one of them has no kernel,
// though the whole has.
template <typename Find>
std::vector<std::shared_ptr<const Primitive>> FindParts(
    const ConvGeometry& g, const std::vector<WeightGradPart>& parts,
    const Find& find) {
  const onednn::SerialScope serial;
  std::vector<std::shared_ptr<const Primitive>> out;
  for (const WeightGradPart& part : parts) {
    int64_t row;
    out.push_back(find(GeometryOfPart(g, part, &row)));
    if (!HasKernel(*out.back())) return {};
  }
  return out;
}

// Whether bits depend on the number of threads: where oneDNN computes by
// products of matrices, which it cuts by how many threads there are, or (with
// AVX-512) by batches of them, whose order follows from the cut.
bool BitsDependOnThreads(const Primitive& p) {
  const std::string_view name = p.implementation();
  return name.find("gemm") != std::string_view::npos ||
         name.find("brgconv:") != std::string_view::npos;
}

// Of row-major images, the elements of part `images` from row `row` on.
void* At(const Tensor& t, const ConvGeometry& g, const PartRange& images,
         int64_t row, bool output) {
  const int64_t rows = output ? g.out[0] : g.in[0];
  const int64_t pixels = output ? g.out_pixels() : g.in_pixels();
  const int64_t channels = output ? g.out_channels : g.in_channels;
  const int64_t pixel = images.begin * pixels + row * (pixels / rows);
  return static_cast<char*>(t.raw_data()) +
         pixel * channels * ItemSize(t.dtype());
}

// What is read as `read` says, in the format that a primitive wants.
PackFormat To(PackFormat read, const dnnl::memory::desc& format) {
  read.to = format;
  return read;
}

// Calls run(primitive, part, the first row of its input, the packed weight) for
// each part, on one thread. `find` gives the primitive of a geometry. False if
// one of them has no kernel.
template <typename Find, typename Run>
bool RunParts(const ConvGeometry& g, const std::vector<WeightGradPart>& parts,
              const Tensor& weight, const PackFormat& read, const Find& find,
              const Run& run) {
  const auto primitives = FindParts(g, parts, find);
  if (primitives.empty()) return false;
  const dnnl::memory::desc format = primitives[0]->desc(DNNL_ARG_WEIGHTS);
  const PackedWeights packed(weight, To(read, format));
  parallel_for(0, static_cast<int64_t>(parts.size()), 1,
               [&](int64_t begin, int64_t end) {
                 const onednn::SerialScope serial;
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t row;
                   GeometryOfPart(g, parts[i], &row);
                   const Primitive& primitive = *primitives[i];
                   const dnnl::memory::desc& wanted =
                       primitive.desc(DNNL_ARG_WEIGHTS);
                   if (wanted == format) {
                     run(primitive, parts[i], row, packed.data());
                   } else {
                     const PackedWeights own(weight, To(read, wanted));
                     run(primitive, parts[i], row, own.data());
                   }
                 }
               });
  return true;
}

// The format of a weight of `channels` outputs in which parts of them lie one
// behind the other, each in the format `part`. None where outputs are not the
// outermost dim of that.
std::optional<dnnl::memory::desc> FormatOfAll(const dnnl::memory::desc& part,
                                              int64_t channels) {
  dnnl_memory_desc_t d = part.data;
  if (d.format_kind != dnnl_blocked || d.extra.flags != 0 ||
      d.padded_dims[0] != d.dims[0])
    return std::nullopt;
  const dnnl_blocking_desc_t& b = d.format_desc.blocking;
  int64_t block = 1;
  for (int i = 0; i < b.inner_nblks; ++i)
    if (b.inner_idxs[i] == 0) block *= b.inner_blks[i];
  for (int i = 1; i < d.ndims; ++i)
    if (b.strides[i] > b.strides[0]) return std::nullopt;
  const auto count = static_cast<size_t>(channels / d.dims[0]);
  d.dims[0] = d.padded_dims[0] = channels;
  const dnnl::memory::desc all(d);
  if (channels % block != 0 || all.get_size() != count * part.get_size())
    return std::nullopt;
  return all;
}

// Runs a forward convolution by parts of its output's channels, all of one
// size, each on one thread. oneDNN writes whole pixels only, so a part's are
// copied. False if it has no kernel for them.
bool RunChannelParts(const ConvGeometry& g,
                     const std::vector<WeightGradPart>& parts, const Tensor& x,
                     const Tensor& weight, const PackFormat& read,
                     const Tensor& bias, const Tensor& y) {
  ConvGeometry part = g;
  part.out_channels = parts[0].channels.size();
  std::shared_ptr<const Primitive> primitive;
  {
    const onednn::SerialScope serial;
    primitive = Forward(part, x.dtype(), bias.defined());
  }
  if (!HasKernel(*primitive)) return false;
  const dnnl::memory::desc& format = primitive->desc(DNNL_ARG_WEIGHTS);
  const auto all = FormatOfAll(format, g.out_channels);
  if (!all) return false;
  const PackedWeights packed(weight, To(read, *all));
  const int64_t item = ItemSize(y.dtype());
  const auto own_bytes = static_cast<size_t>(part.out_channels * item);
  const auto bytes = static_cast<size_t>(g.out_channels * item);
  parallel_for(
      0, static_cast<int64_t>(parts.size()), 1,
      [&](int64_t begin, int64_t end) {
        const onednn::SerialScope serial;
        const Tensor own = Tensor::Empty(part.OutputShape(), y.dtype());
        for (int64_t k = begin; k < end; ++k) {
          char* const from =
              static_cast<char*>(packed.data()) + k * format.get_size();
          const int64_t first = parts[k].channels.begin * item;
          if (bias.defined()) {
            primitive->Execute({{DNNL_ARG_SRC, x.raw_data()},
                                {DNNL_ARG_WEIGHTS, from},
                                {DNNL_ARG_BIAS, bias.data<char>() + first},
                                {DNNL_ARG_DST, own.raw_data()}});
          } else {
            primitive->Execute({{DNNL_ARG_SRC, x.raw_data()},
                                {DNNL_ARG_WEIGHTS, from},
                                {DNNL_ARG_DST, own.raw_data()}});
          }
          const char* result = own.data<char>();
          char* to = y.data<char>() + first;
          for (int64_t p = g.batch * g.out_pixels(); p > 0; --p) {
            std::memcpy(to, result, own_bytes);
            result += own_bytes;
            to += bytes;
          }
        }
      });
  return true;
}

// Runs a forward convolution of `x` to `y`, which need not be those of `data`.
bool RunForward(const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                const PackFormat& read, const Tensor& bias, const Tensor& y,
                bool is_part) {
  const bool has_bias = bias.defined();
  const auto find = [&](const ConvGeometry& part) {
    return Forward(part, x.dtype(), has_bias);
  };
  const auto run = [&](const Primitive& primitive, const WeightGradPart& part,
                       int64_t row, void* packed) {
    void* const from = At(x, g, part.images, row, false);
    void* const to = At(y, g, part.images, part.rows.begin, true);
    if (has_bias) {
      primitive.Execute({{DNNL_ARG_SRC, from},
                         {DNNL_ARG_WEIGHTS, packed},
                         {DNNL_ARG_BIAS, bias.raw_data()},
                         {DNNL_ARG_DST, to}});
    } else {
      primitive.Execute({{DNNL_ARG_SRC, from},
                         {DNNL_ARG_WEIGHTS, packed},
                         {DNNL_ARG_DST, to}});
    }
  };
  const auto primitive = find(g);
  if (!HasKernel(*primitive)) return false;
  if (!is_part && BitsDependOnThreads(*primitive)) {
    const auto channels = ChannelParts(g);
    if (!channels.empty() &&
        RunChannelParts(g, channels, x, weight, read, bias, y))
      return true;
    return RunParts(g, PixelParts(g, /*rows=*/true), weight, read, find, run);
  }
  const PackedWeights packed(weight,
                             To(read, primitive->desc(DNNL_ARG_WEIGHTS)));
  run(*primitive, WholeOf(g), 0, packed.data());
  return true;
}

// Whether it is a product of matrices as they lie, over sums so short that
// products need not divide them: of long ones of few pixels oneDNN's own kernel
// takes half the time (49 pixels, 2048 to 512 channels: 0.11 and 0.24 ms).
bool IsProduct(const ConvGeometry& g) {
  const Window& w = g.window;
  if (g.in_channels > kLongestLowSum) return false;
  for (int d = 0; d < g.dims(); ++d)
    if (w.stride[d] != 1 || w.pad_before[d] != 0 || w.pad_after[d] != 0)
      return false;
  return g.groups == 1 && g.taps() == 1;
}

// y = x * weight + bias of bfloat16. oneDNN's convolutions in AMX ask the
// processor in each run what it has, which takes a virtual machine 10 us, and
// its best one is defective; products have neither fault.
void RunProduct(const ConvGeometry& g, const ConvData& data) {
  GemmProblem p;
  p.dtype = DType::kBFloat16;
  p.m = g.batch * g.out_pixels();
  p.n = g.out_channels;
  p.k = g.in_channels;
  p.a.data = data.x.raw_data();
  p.a.row_stride = p.k;
  p.a.column_stride = 1;
  p.b.data = data.weight.raw_data();
  p.b.row_stride = 1;
  p.b.column_stride = p.k;
  p.bias = data.bias.defined() ? data.bias.raw_data() : nullptr;
  p.c = data.y.raw_data();
  p.weight = &data.weight;
  Gemm(p);
}

// x = y * weight of float32, of a pointwise convolution: the weight as it lies.
// Of few pixels it is faster, since weights whose gradients are asked for
// change with each step, and would be packed for them alone: 49 pixels, 2048 to
// 512 channels take 1.1 ms, and packed 2.6.
bool IsInputProduct(const ConvGeometry& g, DType dtype) {
  constexpr int64_t kFewPixels = 1024;
  return dtype == DType::kFloat32 && IsPointwise(g) && g.groups == 1 &&
         g.batch * g.out_pixels() <= kFewPixels;
}

void RunInputProduct(const ConvGeometry& g, const ConvData& data) {
  GemmProblem p;
  p.m = g.batch * g.out_pixels();
  p.n = g.in_channels;
  p.k = g.out_channels;
  p.a.data = data.y.raw_data();
  p.a.row_stride = p.k;
  p.a.column_stride = 1;
  p.b.data = data.weight.raw_data();
  p.b.row_stride = p.n;
  p.b.column_stride = 1;
  p.c = data.x.raw_data();
  Gemm(p);
}

// The convolution that gives the input gradient of one of stride 1: with the
// taps of the weight turned round and its channels exchanged. False if its
// padding would be negative.
bool AdjointOf(const ConvGeometry& g, ConvGeometry* adjoint) {
  const Window& w = g.window;
  *adjoint = g;
  std::swap(adjoint->in_channels, adjoint->out_channels);
  for (int d = 0; d < g.dims(); ++d) {
    if (w.stride[d] != 1) return false;
    adjoint->in[d] = g.out[d];
    adjoint->out[d] = g.in[d];
    adjoint->window.pad_before[d] = w.Extent(d) - 1 - w.pad_before[d];
    adjoint->window.pad_after[d] = w.Extent(d) - 1 - w.pad_after[d];
    if (adjoint->window.pad_before[d] < 0 || adjoint->window.pad_after[d] < 0)
      return false;
  }
  return true;
}

}  // namespace

bool FusesConvSum(const ConvGeometry& g, DType dtype) {
  return dtype == DType::kBFloat16 &&
         SuitsConvTiles(IsStridedPointwise(g) ? OnTakenPixels(g) : g);
}

bool ConvOneDnn(const ConvGeometry& g, const ConvData& data) {
  if (IsStridedPointwise(g)) {
    const Tensor taken = TakePixels(g, data.x);
    return ConvOneDnn(OnTakenPixels(g),
                      {taken, data.weight, data.bias, data.y, data.scale,
                       data.sum, data.then, data.is_part});
  }
  if (FusesConvSum(g, data.x.dtype())) {
    const auto done = [&](const GemmPart& part) {
      if (data.then != nullptr) data.then->run(part);
    };
    ConvTiles(g, data.x, data.weight, TileWeight::kForward, data.bias, data.y,
              done, data.sum);
    if (data.then != nullptr) data.then->done = true;
    return true;
  }
  if (data.x.dtype() == DType::kBFloat16 && MultipliesBFloat16() &&
      IsProduct(g)) {
    RunProduct(g, data);
    return true;
  }
  if (!data.scale.defined() && SuitsFewChannels(g, data.x.dtype())) {
    ConvToFewChannels(g, data.x, data.weight, /*adjoint=*/false, data.bias,
                      data.y);
    return true;
  }
  if (!OneDnnForwardIsRight(g, data.x.dtype())) return false;
  return RunForward(
      g, data.x, data.weight,
      {ConvWeightDesc(g, data.x.dtype(), false), {}, 1, data.scale}, data.bias,
      data.y, data.is_part);
}

bool ConvInputGradOneDnn(const ConvGeometry& g, const ConvData& data) {
  const DType dtype = data.y.dtype();
  ConvGeometry adjoint;
  const bool has_adjoint = AdjointOf(g, &adjoint);
  if (has_adjoint && SuitsFewChannels(adjoint, dtype)) {
    ConvToFewChannels(adjoint, data.y, data.weight, /*adjoint=*/true, Tensor(),
                      data.x);
    return true;
  }
  if (!OneDnnInputGradIsRight(g, dtype)) return false;
  if (IsStridedPointwise(g)) {
    const ConvGeometry taken = OnTakenPixels(g);
    const Tensor pixels = Tensor::Empty(taken.InputShape(), dtype);
    if (!ConvInputGradOneDnn(taken, {pixels, data.weight, data.bias, data.y}))
      return false;
    SpreadPixels(g, pixels, data.x);
    return true;
  }
  if (IsInputProduct(g, dtype)) {
    RunInputProduct(g, data);
    return true;
  }
  if (has_adjoint) {
    if (dtype == DType::kBFloat16 && SuitsConvTiles(adjoint)) {
      ConvTiles(adjoint, data.y, data.weight, TileWeight::kAdjoint, Tensor(),
                data.x, [](const GemmPart&) {});
      return true;
    }
    const PackFormat read{
        ConvWeightDesc(g, dtype, /*transposed=*/true), {}, g.taps()};
    return RunForward(adjoint, data.y, data.weight, read, Tensor(), data.x,
                      /*is_part=*/false);
  }
  const auto find = [&](const ConvGeometry& part) {
    return InputGrad(part, dtype);
  };
  const auto run = [&](const Primitive& primitive, const WeightGradPart& part,
                       int64_t row, void* packed) {
    primitive.Execute(
        {{DNNL_ARG_DIFF_DST, At(data.y, g, part.images, 0, true)},
         {DNNL_ARG_WEIGHTS, packed},
         {DNNL_ARG_DIFF_SRC, At(data.x, g, part.images, 0, false)}});
  };
  const auto primitive = find(g);
  if (!HasKernel(*primitive)) return false;
  PackFormat read{ConvWeightDesc(g, dtype, false), {}};
  if (BitsDependOnThreads(*primitive)) {
    return RunParts(g, PixelParts(g, /*rows=*/false), data.weight, read, find,
                    run);
  }
  read.to = primitive->desc(DNNL_ARG_WEIGHTS);
  const PackedWeights packed(data.weight, read);
  run(*primitive, WholeOf(g), 0, packed.data());
  return true;
}

}  // namespace proa::inline v0::ops
