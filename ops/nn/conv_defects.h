// Convolutions that oneDNN 2.6, which Debian has, computes wrongly on CPUs with
// AVX-512: it reads or writes past its memory, or gives other numbers. They are
// computed otherwise on every CPU, so that all give one result.
//
// The rules are wider than what was seen to fail. Of 47,000 sampled geometries
// in float32 and bfloat16, on a CPU with AVX-512, bfloat16 and AMX, 367 failed
// in one pass or another, all of them within the rules; by the rules none did.
// The sample is that of conv_onednn_test.cc; on CPUs with AVX2 nothing of it
// fails. fuzz/regressions.txt has what buffers between guarded pages showed
// beyond.
#ifndef PROA_OPS_NN_CONV_DEFECTS_H_
#define PROA_OPS_NN_CONV_DEFECTS_H_

#include <string_view>

#include "ops/nn/conv_geometry.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

// False where oneDNN must not be asked for the result of `g`, its input
// gradient or its weight gradient.
bool OneDnnForwardIsRight(const ConvGeometry& g, DType dtype);
bool OneDnnInputGradIsRight(const ConvGeometry& g, DType dtype);
bool OneDnnWeightGradIsRight(const ConvGeometry& g, DType dtype);

// Whether the implementation of that name must not be used at all: convolutions
// by blocks of products in AMX read past the ends of tables while their code is
// made, and pointwise ones in AMX past their images, of more than 128 channels
// and 27, 36 or 48 pixels.
bool IsDefective(std::string_view implementation);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_DEFECTS_H_
