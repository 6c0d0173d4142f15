#include "ops/nn/conv_defects.h"

#include <algorithm>
#include <cstdint>

namespace proa::inline v0::ops {
namespace {

// All passes fail for some volumes of bfloat16, of the most ordinary sizes:
// in 3 x 3 x 2, kernel 4 x 65 x 3, SAME; in 4 x 4 x 3, kernel 4 x 4 x 4.
bool IsLowVolume(const ConvGeometry& g, DType dtype) {
  return g.dims() == 3 && dtype == DType::kBFloat16;
}

// Whether the first or the last window of dim d lies in the padding.
bool HasWindowOutside(const ConvGeometry& g, int d) {
  const Window& w = g.window;
  const int64_t last = (g.out[d] - 1) * w.stride[d] - w.pad_before[d];
  return last >= g.in[d] || w.pad_before[d] >= w.Extent(d);
}

// How far the last window of dim d hangs over the input.
int64_t OverhangBehind(const ConvGeometry& g, int d) {
  const Window& w = g.window;
  return (g.out[d] - 1) * w.stride[d] + w.Extent(d) - w.pad_before[d] - g.in[d];
}

}  // namespace

bool OneDnnForwardIsRight(const ConvGeometry& g, DType dtype) {
  if (IsLowVolume(g, dtype)) return false;
  if (dtype != DType::kBFloat16) return true;
  // In 14, kernel 1, stride 16; in 16, kernel 1, stride 4, one of padding
  // behind: it reads past its memory.
  for (int d = 0; d < g.dims(); ++d)
    if (g.window.stride[d] > g.window.Extent(d) || HasWindowOutside(g, d))
      return false;
  return true;
}

bool OneDnnInputGradIsRight(const ConvGeometry& g, DType dtype) {
  if (IsLowVolume(g, dtype)) return false;
  if (dtype != DType::kBFloat16) return true;
  // Of 1440 geometries with strides from 2 to 65, 120 read far outside of
  // memory: those of stride 65 and a kernel of more than one element. None of
  // stride 33 did.
  constexpr int64_t kMostStride = 32;
  for (int d = 0; d < g.dims(); ++d)
    if (g.window.stride[d] > kMostStride) return false;
  return true;
}

bool OneDnnWeightGradIsRight(const ConvGeometry& g, DType dtype) {
  if (IsLowVolume(g, dtype)) return false;
  const Window& w = g.window;
  for (int d = 0; d < g.dims(); ++d) {
    if (w.kernel[d] == 1 || w.dilation[d] == 1) continue;
    // bfloat16: of 33 channels or of groups, one in 40 of those with dilation.
    // float32: in 85, kernel 2, stride 3, dilation 40, padding 20.
    if (dtype == DType::kBFloat16 || w.stride[d] > 1) return false;
  }
  // In 4, kernel 4, stride 2, padding 3, of a volume's outermost dim, where
  // several windows hang over: it reads past its memory.
  return g.dims() < 3 || w.stride[0] == 1 ||
         std::max(w.pad_before[0], OverhangBehind(g, 0)) <= w.stride[0];
}

bool IsDefective(std::string_view implementation) {
  return (implementation.starts_with("brgconv") ||
          implementation.starts_with("jit_1x1")) &&
         implementation.find("amx") != std::string_view::npos;
}

}  // namespace proa::inline v0::ops
