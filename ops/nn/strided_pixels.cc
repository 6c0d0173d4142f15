#include "ops/nn/strided_pixels.h"

#include <algorithm>
#include <cstring>

#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// Bytes that are worth a piece of a parallel loop.
constexpr int64_t kGrainBytes = 64 << 10;

int64_t GrainOfRows(int64_t row_bytes) {
  return std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, row_bytes));
}

}  // namespace

bool IsPointwise(const ConvGeometry& g) {
  const Window& w = g.window;
  for (int d = 0; d < 2; ++d)
    if (w.kernel[d] != 1 || w.pad_before[d] != 0 || w.pad_after[d] != 0)
      return false;
  return true;
}

bool IsStridedPointwise(const ConvGeometry& g) {
  return IsPointwise(g) && (g.window.stride[0] > 1 || g.window.stride[1] > 1);
}

ConvGeometry OnTakenPixels(const ConvGeometry& g) {
  ConvGeometry taken = g;
  for (int d = 0; d < 2; ++d) {
    taken.in[d] = g.out[d];
    taken.window.stride[d] = 1;
  }
  return taken;
}

Tensor TakePixels(const ConvGeometry& g, const Tensor& x) {
  const Tensor taken = Tensor::Empty(
      {g.batch, g.out[0], g.out[1], g.in_channels}, x.dtype(), x.place());
  const int64_t pixel = g.in_channels * ItemSize(x.dtype());
  const int64_t row = g.out[1] * pixel, in_row = g.in[1] * pixel;
  const int64_t step = g.window.stride[1] * pixel;
  const char* from = x.data<char>();
  char* to = taken.data<char>();
  parallel_for(0, g.batch * g.out[0], GrainOfRows(row),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t image = i / g.out[0];
                   const int64_t line = i % g.out[0] * g.window.stride[0];
                   const char* in = from + (image * g.in[0] + line) * in_row;
                   char* out = to + i * row;
                   for (int64_t j = 0; j < g.out[1]; ++j)
                     std::memcpy(out + j * pixel, in + j * step,
                                 static_cast<size_t>(pixel));
                 }
               });
  return taken;
}

void SpreadPixels(const ConvGeometry& g, const Tensor& pixels,
                  const Tensor& x) {
  const int64_t pixel = g.in_channels * ItemSize(x.dtype());
  const int64_t row = g.out[1] * pixel, in_row = g.in[1] * pixel;
  const int64_t stride = g.window.stride[0], step = g.window.stride[1];
  const char* from = pixels.data<char>();
  char* to = x.data<char>();
  // A row that holds pixels: each of them and the zeros after it.
  const auto fill = [&](const char* in, char* out) {
    for (int64_t j = 0; j < g.out[1]; ++j) {
      const int64_t at = j * step;
      const int64_t next = j + 1 < g.out[1] ? at + step : g.in[1];
      std::memcpy(out + at * pixel, in + j * pixel, static_cast<size_t>(pixel));
      std::memset(out + (at + 1) * pixel, 0,
                  static_cast<size_t>((next - at - 1) * pixel));
    }
  };
  parallel_for(0, g.batch * g.in[0], GrainOfRows(in_row),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t image = i / g.in[0], line = i % g.in[0];
                   char* out = to + i * in_row;
                   if (line % stride == 0 && line / stride < g.out[0]) {
                     fill(from + (image * g.out[0] + line / stride) * row, out);
                   } else {
                     std::memset(out, 0, static_cast<size_t>(in_row));
                   }
                 }
               });
}

}  // namespace proa::inline v0::ops
