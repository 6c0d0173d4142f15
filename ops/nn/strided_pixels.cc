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

// The row of x that row `i` of the taken pixels is of: a row is a line along
// the last dim.
int64_t RowOfTaken(const ConvGeometry& g, int64_t i) {
  int64_t at[kMostSpatialDims];
  for (int d = g.dims() - 2; d >= 0; --d) {
    at[d] = i % g.out[d] * g.window.stride[d];
    i /= g.out[d];
  }
  for (int d = 0; d + 1 < g.dims(); ++d) i = i * g.in[d] + at[d];
  return i;
}

// Its inverse; -1 for a row of which nothing is taken.
int64_t TakenOfRow(const ConvGeometry& g, int64_t i) {
  int64_t at[kMostSpatialDims];
  for (int d = g.dims() - 2; d >= 0; --d) {
    const int64_t position = i % g.in[d], stride = g.window.stride[d];
    if (position % stride != 0 || position / stride >= g.out[d]) return -1;
    at[d] = position / stride;
    i /= g.in[d];
  }
  for (int d = 0; d + 1 < g.dims(); ++d) i = i * g.out[d] + at[d];
  return i;
}

}  // namespace

bool IsPointwise(const ConvGeometry& g) {
  const Window& w = g.window;
  for (int d = 0; d < g.dims(); ++d)
    if (w.kernel[d] != 1 || w.pad_before[d] != 0 || w.pad_after[d] != 0)
      return false;
  return true;
}

bool IsStridedPointwise(const ConvGeometry& g) {
  const int64_t* stride = g.window.stride;
  return IsPointwise(g) && std::max({stride[0], stride[1], stride[2]}) > 1;
}

ConvGeometry OnTakenPixels(const ConvGeometry& g) {
  ConvGeometry taken = g;
  for (int d = 0; d < g.dims(); ++d) {
    taken.in[d] = g.out[d];
    taken.window.stride[d] = 1;
  }
  return taken;
}

Tensor TakePixels(const ConvGeometry& g, const Tensor& x) {
  const int last = g.dims() - 1;
  const Tensor taken =
      Tensor::Empty(OnTakenPixels(g).InputShape(), x.dtype(), x.place());
  const int64_t pixel = g.in_channels * ItemSize(x.dtype());
  const int64_t row = g.out[last] * pixel, in_row = g.in[last] * pixel;
  const int64_t step = g.window.stride[last] * pixel;
  const char* from = x.data<char>();
  char* to = taken.data<char>();
  parallel_for(0, g.batch * g.out_pixels() / g.out[last], GrainOfRows(row),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const char* in = from + RowOfTaken(g, i) * in_row;
                   char* out = to + i * row;
                   for (int64_t j = 0; j < g.out[last]; ++j)
                     std::memcpy(out + j * pixel, in + j * step,
                                 static_cast<size_t>(pixel));
                 }
               });
  return taken;
}

void SpreadPixels(const ConvGeometry& g, const Tensor& pixels,
                  const Tensor& x) {
  const int last = g.dims() - 1;
  const int64_t pixel = g.in_channels * ItemSize(x.dtype());
  const int64_t row = g.out[last] * pixel, in_row = g.in[last] * pixel;
  const int64_t step = g.window.stride[last];
  const char* from = pixels.data<char>();
  char* to = x.data<char>();
  // A row that holds pixels: each of them and the zeros after it.
  const auto fill = [&](const char* in, char* out) {
    for (int64_t j = 0; j < g.out[last]; ++j) {
      const int64_t at = j * step;
      const int64_t next = j + 1 < g.out[last] ? at + step : g.in[last];
      std::memcpy(out + at * pixel, in + j * pixel, static_cast<size_t>(pixel));
      std::memset(out + (at + 1) * pixel, 0,
                  static_cast<size_t>((next - at - 1) * pixel));
    }
  };
  parallel_for(0, g.batch * g.in_pixels() / g.in[last], GrainOfRows(in_row),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t taken = TakenOfRow(g, i);
                   char* out = to + i * in_row;
                   if (taken >= 0) {
                     fill(from + taken * row, out);
                   } else {
                     std::memset(out, 0, static_cast<size_t>(in_row));
                   }
                 }
               });
}

}  // namespace proa::inline v0::ops
