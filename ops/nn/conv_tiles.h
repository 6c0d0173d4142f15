// Convolutions of bfloat16 in tiles of AMX. The bits are the same for any
// number of threads.
//
// Each tap is a product of matrices whose rows are pixels. So that the pixels
// of an output are the rows of one matrix for each tap, an image is copied with
// its padding, which takes little of the time; outputs beside those that there
// are, which taps beyond the end of a line give, are computed and dropped.
#ifndef PROA_OPS_NN_CONV_TILES_H_
#define PROA_OPS_NN_CONV_TILES_H_

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm_then.h"
#include "ops/nn/conv_geometry.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// How the weight of a convolution lies: [out, in, taps], or as that of the
// convolution whose input gradient this one is: [in, out, taps], with its taps
// in the reverse order.
enum class TileWeight { kForward, kAdjoint };

// What is done with a result before it is written: `addend`, like it and row-
// major too, perhaps in its memory, or undefined, is added, then what is less
// than zero becomes zero if `relu` is set.
struct ConvSum {
  Tensor addend = {};
  bool relu = false;
};

// Whether a convolution of bfloat16 is computed in tiles: where channels fill
// them. Not by how many pixels there are: parts have the bits of the whole.
bool SuitsConvTiles(const ConvGeometry& g);

// y = x * weight (+ bias, may be undefined), all of bfloat16; x and y are row-
// major with channels last, and of 2 or 3 dims. Calls `done` for each part of
// y, pixels and their channels, on the thread that computed it.
void ConvTiles(const ConvGeometry& g, const Tensor& x, const Tensor& weight,
               TileWeight order, const Tensor& bias, const Tensor& y,
               absl::FunctionRef<void(const GemmPart& part)> done,
               const ConvSum& sum = {});

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_TILES_H_
