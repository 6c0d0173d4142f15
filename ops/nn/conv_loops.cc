#include "ops/nn/conv_loops.h"

#include <algorithm>

#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// Offsets of an image tensor in either layout.
struct ImageIndex {
  int64_t n, c, h, w;
  ImageIndex(bool channels_last, int64_t channels, const int64_t size[2]) {
    if (channels_last) {
      n = size[0] * size[1] * channels, h = size[1] * channels, w = channels,
      c = 1;
    } else {
      n = channels * size[0] * size[1], c = size[0] * size[1], h = size[1],
      w = 1;
    }
  }
};

// The taps [begin, end) of the kernel that fall inside the image along dim d,
// for output position `out`.
struct Taps {
  int64_t begin, end, first;  // first: input position of tap 0, may be outside
};

Taps TapsAt(const ConvGeometry& g, int d, int64_t out) {
  const Window& w = g.window;
  Taps t;
  t.first = out * w.stride[d] - w.pad_before[d];
  const int64_t step = w.dilation[d];
  t.begin = t.first >= 0 ? 0 : (-t.first + step - 1) / step;
  t.end = t.first >= g.in[d]
              ? 0
              : std::min(w.kernel[d], (g.in[d] - t.first + step - 1) / step);
  t.begin = std::min(t.begin, t.end);
  return t;
}

// Calls f(i, j, p, q, row, column) for every output position and tap inside:
// tap (p, q) of output (i, j) sees input (row, column).
template <typename F>
void ForEachTap(const ConvGeometry& g, F&& f) {
  for (int64_t i = 0; i < g.out[0]; ++i) {
    const Taps rows = TapsAt(g, 0, i);
    for (int64_t j = 0; j < g.out[1]; ++j) {
      const Taps columns = TapsAt(g, 1, j);
      for (int64_t p = rows.begin; p < rows.end; ++p) {
        const int64_t row = rows.first + p * g.window.dilation[0];
        for (int64_t q = columns.begin; q < columns.end; ++q)
          f(i, j, p, q, row, columns.first + q * g.window.dilation[1]);
      }
    }
  }
}

int64_t WorkOfPlane(const ConvGeometry& g, int64_t channels) {
  return std::max<int64_t>(1, g.out[0] * g.out[1] * g.window.kernel[0] *
                                  g.window.kernel[1] * channels);
}

int64_t Grain(int64_t work) { return std::max<int64_t>(1, 20000 / work); }

}  // namespace

template <typename T>
void ConvLoops(const ConvGeometry& g, const T* x, const T* weight,
               const T* bias, T* y) {
  const ImageIndex xi(g.channels_last, g.in_channels, g.in);
  const ImageIndex yi(g.channels_last, g.out_channels, g.out);
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  const int64_t taps = g.window.kernel[0] * g.window.kernel[1];
  const auto plane = [&](int64_t n, int64_t o) {
    T* out = y + n * yi.n + o * yi.c;
    const T start = bias != nullptr ? bias[o] : T(0);
    for (int64_t i = 0; i < g.out[0]; ++i)
      for (int64_t j = 0; j < g.out[1]; ++j) out[i * yi.h + j * yi.w] = start;
    for (int64_t c = 0; c < cg; ++c) {
      const T* in = x + n * xi.n + (o / og * cg + c) * xi.c;
      const T* w = weight + (o * cg + c) * taps;
      ForEachTap(g, [&](int64_t i, int64_t j, int64_t p, int64_t q, int64_t row,
                        int64_t column) {
        out[i * yi.h + j * yi.w] +=
            in[row * xi.h + column * xi.w] * w[p * g.window.kernel[1] + q];
      });
    }
  };
  parallel_for(0, g.batch * g.out_channels, Grain(WorkOfPlane(g, cg)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k)
                   plane(k / g.out_channels, k % g.out_channels);
               });
}

template <typename T>
void ConvInputGradLoops(const ConvGeometry& g, T* x, const T* weight,
                        const T* y) {
  const ImageIndex xi(g.channels_last, g.in_channels, g.in);
  const ImageIndex yi(g.channels_last, g.out_channels, g.out);
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  const int64_t taps = g.window.kernel[0] * g.window.kernel[1];
  const auto plane = [&](int64_t n, int64_t c) {
    T* in = x + n * xi.n + c * xi.c;
    for (int64_t i = 0; i < g.in[0]; ++i)
      for (int64_t j = 0; j < g.in[1]; ++j) in[i * xi.h + j * xi.w] = T(0);
    for (int64_t k = 0; k < og; ++k) {
      const int64_t o = c / cg * og + k;
      const T* out = y + n * yi.n + o * yi.c;
      const T* w = weight + (o * cg + c % cg) * taps;
      ForEachTap(g, [&](int64_t i, int64_t j, int64_t p, int64_t q, int64_t row,
                        int64_t column) {
        in[row * xi.h + column * xi.w] +=
            out[i * yi.h + j * yi.w] * w[p * g.window.kernel[1] + q];
      });
    }
  };
  parallel_for(0, g.batch * g.in_channels, Grain(WorkOfPlane(g, og)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k)
                   plane(k / g.in_channels, k % g.in_channels);
               });
}

template <typename T>
void ConvWeightGradLoops(const ConvGeometry& g, const T* x, T* weight,
                         const T* y) {
  const ImageIndex xi(g.channels_last, g.in_channels, g.in);
  const ImageIndex yi(g.channels_last, g.out_channels, g.out);
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  const int64_t taps = g.window.kernel[0] * g.window.kernel[1];
  const auto filter = [&](int64_t o, int64_t c) {
    T* w = weight + (o * cg + c) * taps;
    std::fill_n(w, taps, T(0));
    for (int64_t n = 0; n < g.batch; ++n) {
      const T* in = x + n * xi.n + (o / og * cg + c) * xi.c;
      const T* out = y + n * yi.n + o * yi.c;
      ForEachTap(g, [&](int64_t i, int64_t j, int64_t p, int64_t q, int64_t row,
                        int64_t column) {
        w[p * g.window.kernel[1] + q] +=
            in[row * xi.h + column * xi.w] * out[i * yi.h + j * yi.w];
      });
    }
  };
  parallel_for(0, g.out_channels * cg, Grain(WorkOfPlane(g, g.batch)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k) filter(k / cg, k % cg);
               });
}

#define PROA_INSTANTIATE(T)                                                  \
  template void ConvLoops(const ConvGeometry&, const T*, const T*, const T*, \
                          T*);                                               \
  template void ConvInputGradLoops(const ConvGeometry&, T*, const T*,        \
                                   const T*);                                \
  template void ConvWeightGradLoops(const ConvGeometry&, const T*, T*,       \
                                    const T*);
PROA_INSTANTIATE(float)
PROA_INSTANTIATE(double)
#undef PROA_INSTANTIATE

}  // namespace proa::inline v0::ops
