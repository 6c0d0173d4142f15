#include "ops/nn/conv_loops.h"

#include <algorithm>

#include "ops/nn/conv_taps.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// Offsets of an image tensor in either layout.
struct ImageIndex {
  int64_t n, c, at[3];
  ImageIndex(bool channels_last, int64_t channels, const int64_t size[3]) {
    c = channels_last ? 1 : size[0] * size[1] * size[2];
    at[2] = channels_last ? channels : 1;
    at[1] = size[2] * at[2];
    at[0] = size[1] * at[1];
    n = channels * size[0] * size[1] * size[2];
  }
};

// Calls f(output, tap, input) with offsets for every output position and tap
// inside. Dims that there are not have one position and one tap.
template <typename F>
void ForEachTap(const ConvGeometry& g, const ImageIndex& xi,
                const ImageIndex& yi, F&& f) {
  const Window& w = g.window;
  for (int64_t k = 0; k < g.out[0]; ++k) {
    const Taps a = TapsAt(g, 0, k);
    for (int64_t i = 0; i < g.out[1]; ++i) {
      const Taps b = TapsAt(g, 1, i);
      for (int64_t j = 0; j < g.out[2]; ++j) {
        const Taps c = TapsAt(g, 2, j);
        const int64_t out = k * yi.at[0] + i * yi.at[1] + j * yi.at[2];
        for (int64_t o = a.begin; o < a.end; ++o) {
          const int64_t plane = (a.first + o * w.dilation[0]) * xi.at[0];
          for (int64_t p = b.begin; p < b.end; ++p) {
            const int64_t row =
                plane + (b.first + p * w.dilation[1]) * xi.at[1];
            const int64_t tap = (o * w.kernel[1] + p) * w.kernel[2];
            for (int64_t q = c.begin; q < c.end; ++q)
              f(out, tap + q, row + (c.first + q * w.dilation[2]) * xi.at[2]);
          }
        }
      }
    }
  }
}

// Calls f(offset) for every position of an image of these sizes.
template <typename F>
void ForEachPixel(const int64_t size[3], const ImageIndex& at, F&& f) {
  for (int64_t k = 0; k < size[0]; ++k)
    for (int64_t i = 0; i < size[1]; ++i)
      for (int64_t j = 0; j < size[2]; ++j)
        f(k * at.at[0] + i * at.at[1] + j * at.at[2]);
}

int64_t WorkOfPlane(const ConvGeometry& g, int64_t channels) {
  return std::max<int64_t>(1, g.out_pixels() * g.taps() * channels);
}

int64_t Grain(int64_t work) { return std::max<int64_t>(1, 20000 / work); }

}  // namespace

template <typename T>
void ConvLoops(const ConvGeometry& g, const T* x, const T* weight,
               const T* bias, T* y) {
  const ImageIndex xi(g.format.channels_last, g.in_channels, g.in);
  const ImageIndex yi(g.format.channels_last, g.out_channels, g.out);
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  const int64_t taps = g.taps();
  const auto plane = [&](int64_t n, int64_t o) {
    T* out = y + n * yi.n + o * yi.c;
    const T start = bias != nullptr ? bias[o] : T(0);
    ForEachPixel(g.out, yi, [&](int64_t at) { out[at] = start; });
    for (int64_t c = 0; c < cg; ++c) {
      const T* in = x + n * xi.n + (o / og * cg + c) * xi.c;
      const T* w = weight + (o * cg + c) * taps;
      ForEachTap(g, xi, yi, [&](int64_t to, int64_t tap, int64_t from) {
        out[to] += in[from] * w[tap];
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
  const ImageIndex xi(g.format.channels_last, g.in_channels, g.in);
  const ImageIndex yi(g.format.channels_last, g.out_channels, g.out);
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  const int64_t taps = g.taps();
  const auto plane = [&](int64_t n, int64_t c) {
    T* in = x + n * xi.n + c * xi.c;
    ForEachPixel(g.in, xi, [&](int64_t at) { in[at] = T(0); });
    for (int64_t k = 0; k < og; ++k) {
      const int64_t o = c / cg * og + k;
      const T* out = y + n * yi.n + o * yi.c;
      const T* w = weight + (o * cg + c % cg) * taps;
      ForEachTap(g, xi, yi, [&](int64_t from, int64_t tap, int64_t to) {
        in[to] += out[from] * w[tap];
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
  const ImageIndex xi(g.format.channels_last, g.in_channels, g.in);
  const ImageIndex yi(g.format.channels_last, g.out_channels, g.out);
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  const int64_t taps = g.taps();
  const auto filter = [&](int64_t o, int64_t c) {
    T* w = weight + (o * cg + c) * taps;
    std::fill_n(w, taps, T(0));
    for (int64_t n = 0; n < g.batch; ++n) {
      const T* in = x + n * xi.n + (o / og * cg + c) * xi.c;
      const T* out = y + n * yi.n + o * yi.c;
      ForEachTap(g, xi, yi, [&](int64_t grad, int64_t tap, int64_t from) {
        w[tap] += in[from] * out[grad];
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
