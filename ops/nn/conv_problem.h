// A convolution of 2 or 3 dims in oneDNN's words: descriptors, keys of the
// primitive cache.
#ifndef PROA_OPS_NN_CONV_PROBLEM_H_
#define PROA_OPS_NN_CONV_PROBLEM_H_

#include "oneapi/dnnl/dnnl.hpp"
#include "ops/nn/conv_geometry.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_key.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// What a primitive of `threads` threads is compiled for.
onednn::PrimitiveKey ConvKey(onednn::PrimitiveKind kind, const ConvGeometry& g,
                             DType dtype, bool has_bias, int threads);

// The contiguous weight as oneDNN reads it. `transposed`: with the channels in
// and out exchanged.
dnnl::memory::desc ConvWeightDesc(const ConvGeometry& g, DType dtype,
                                  bool transposed);

struct ConvProblem {
  dnnl::memory::desc x, weight, bias, y;
  dnnl::memory::dims stride, dilation, pad_before, pad_after;
};

// Images lie channels-last; the primitive chooses the format of the weight.
ConvProblem DescribeConv(const ConvGeometry& g, DType dtype);

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvProblem& p,
                                                      bool has_bias);

// False where oneDNN has no kernel of its own for the problem: none, or the one
// that it compares others with. That took 8 to 160 times as long as ConvLoops
// in what was measured (a transposed convolution of 9 channels in 3 dims, with
// and without dilation, AVX2).
bool HasKernel(const onednn::Primitive& p);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_PROBLEM_H_
