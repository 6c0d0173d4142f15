// Convolutions that oneDNN 2.6, which Debian has, computes wrongly on CPUs with
// AVX-512: it reads or writes past its memory, or gives other numbers. They are
// computed otherwise on every CPU, so that all give one result.
//
// The rules are wider than what was seen to fail. 47,000 sampled geometries,
// two thirds of them in float32, on a CPU with AVX-512, bfloat16 and AMX: 363
// of them failed in one pass or another, all of them within the rules; in
// bfloat16 without them none of 4,000 weight gradients and 4,800 forward
// passes. The sample is that of conv_onednn_test.cc; on CPUs with AVX2 nothing
// of it fails.
#ifndef PROA_OPS_NN_CONV_DEFECTS_H_
#define PROA_OPS_NN_CONV_DEFECTS_H_

#include "ops/nn/conv_geometry.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// False where oneDNN must not be asked for the result of `g`, its input
// gradient or its weight gradient.
bool OneDnnForwardIsRight(const ConvGeometry& g, DType dtype);
bool OneDnnInputGradIsRight(const ConvGeometry& g, DType dtype);
bool OneDnnWeightGradIsRight(const ConvGeometry& g, DType dtype);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_DEFECTS_H_
