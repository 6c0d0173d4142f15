#include "ops/nn/conv_products.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/linalg/double_product.h"
#include "ops/nn/conv_pointwise.h"
#include "ops/nn/conv_taps.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// Elements that nobody has written yet.
class Buffer {
 public:
  explicit Buffer(int64_t size) : data_(new double[size]) {}
  double* data() const { return data_.get(); }

 private:
  std::unique_ptr<double[]> data_;
};

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

Range PartOf(int64_t size, int64_t step, int64_t number) {
  return {number * step, std::min(size, (number + 1) * step)};
}

int64_t CountParts(int64_t size, int64_t step) {
  return (size + step - 1) / step;
}

// The taps and channels of a group, which are summed over, cut into parts. A
// part has whole lines of taps, which lie along the innermost dim, and some
// channels: [line, tap, channel].
class Parts {
 public:
  // Of about `columns` elements.
  Parts(const ConvGeometry& g, int64_t columns) : g_(g) {
    constexpr int64_t kMostChannels = 32;
    const int64_t taps = g.window.kernel[2];
    channel_step_ = std::clamp<int64_t>(
        columns / taps, 1, std::min(kMostChannels, g.in_channels_per_group()));
    line_step_ =
        std::clamp<int64_t>(columns / (taps * channel_step_), 1, lines());
  }

  struct Part {
    Range lines, channels;
    int64_t columns;
  };
  int64_t channel_parts() const {
    return CountParts(g_.in_channels_per_group(), channel_step_);
  }
  int64_t line_parts() const { return CountParts(lines(), line_step_); }
  int64_t size() const { return channel_parts() * line_parts(); }
  Part operator[](int64_t k) const {
    Part p;
    p.lines = PartOf(lines(), line_step_, k % line_parts());
    p.channels =
        PartOf(g_.in_channels_per_group(), channel_step_, k / line_parts());
    p.columns = p.lines.size() * g_.window.kernel[2] * p.channels.size();
    return p;
  }
  int64_t most_columns() const {
    return line_step_ * g_.window.kernel[2] * channel_step_;
  }

 private:
  int64_t lines() const { return g_.window.kernel[0] * g_.window.kernel[1]; }

  const ConvGeometry& g_;
  int64_t channel_step_, line_step_;
};

// Calls f(tap of the weight, channel of the group, column) for all of a part.
template <typename F>
void ForEachColumn(const ConvGeometry& g, const Parts::Part& part, F&& f) {
  const int64_t taps = g.window.kernel[2];
  int64_t column = 0;
  for (int64_t tap = part.lines.begin * taps; tap < part.lines.end * taps;
       ++tap)
    for (int64_t c = part.channels.begin; c < part.channels.end; ++c)
      f(tap, c, column++);
}

// Calls f(row, taps, input) for the lines of a part at each of the outputs,
// which are counted over all images. `row` is where the line begins in a tile
// of rows of the part; `input` where tap 0 is in the images, perhaps outside.
// No tap is inside of a line that lies in the padding.
template <typename F>
void ForEachLine(const ConvGeometry& g, const Parts::Part& part, Range outputs,
                 F&& f) {
  const Window& w = g.window;
  int64_t row = 0;
  for (int64_t k = outputs.begin; k < outputs.end; ++k) {
    const int64_t image = k / g.out_pixels();
    const int64_t at[3] = {k / (g.out[1] * g.out[2]) % g.out[0],
                           k / g.out[2] % g.out[1], k % g.out[2]};
    const Taps a = TapsAt(g, 0, at[0]), b = TapsAt(g, 1, at[1]);
    const Taps inside = TapsAt(g, 2, at[2]);
    for (int64_t l = part.lines.begin; l < part.lines.end; ++l) {
      const int64_t o = l / w.kernel[1], p = l % w.kernel[1];
      Taps c = inside;
      if (o < a.begin || o >= a.end || p < b.begin || p >= b.end)
        c.begin = c.end = 0;
      const int64_t line =
          (image * g.in[0] + a.first + o * w.dilation[0]) * g.in[1] + b.first +
          p * w.dilation[1];
      f(row, c, (line * g.in[2] + c.first) * g.in_channels);
      row += w.kernel[2] * part.channels.size();
    }
  }
}

// Channels of taps, `step` apart, one behind the other. Of a few channels: as
// constants, since calls and loops for each tap would take longer than what
// they copy.
template <int kChannels>
void CopyTaps(const double* from, int64_t step, int64_t taps, double* to) {
  for (int64_t q = 0; q < taps; ++q)
    std::memcpy(to + q * kChannels, from + q * step,
                kChannels * sizeof(double));
}
void CopyTaps(const double* from, int64_t step, int64_t taps, int64_t channels,
              double* to) {
  if (step == channels) {
    std::copy_n(from, taps * channels, to);
    return;
  }
  switch (channels) {
    case 1:
      return CopyTaps<1>(from, step, taps, to);
    case 2:
      return CopyTaps<2>(from, step, taps, to);
    case 4:
      return CopyTaps<4>(from, step, taps, to);
    case 8:
      return CopyTaps<8>(from, step, taps, to);
    case 16:
      return CopyTaps<16>(from, step, taps, to);
    default:
      for (int64_t q = 0; q < taps; ++q)
        std::copy_n(from + q * step, channels, to + q * channels);
  }
}

// How many groups are worked on together: finding a line takes longer than
// copying a few channels of it. One if its rows are cut into parts.
int64_t GroupsTogether(const ConvGeometry& g, const Parts& parts) {
  constexpr int64_t kChannels = 64;
  if (parts.size() > 1) return 1;
  return std::clamp<int64_t>(kChannels / g.in_channels_per_group(), 1,
                             g.groups);
}

// x of some groups, of which the first one's first channel is x[0], as rows of
// a part: all rows of a group, then those of the next one.
void Gather(const ConvGeometry& g, const Parts::Part& part, Range outputs,
            int64_t groups, const double* x, double* rows) {
  const int64_t taps = g.window.kernel[2], channels = part.channels.size();
  const int64_t step = g.window.dilation[2] * g.in_channels;
  const int64_t group_rows = outputs.size() * part.columns;
  ForEachLine(g, part, outputs, [&](int64_t row, Taps t, int64_t input) {
    const double* from = x + (input + part.channels.begin + t.begin * step);
    double* to = rows + row;
    for (int64_t k = 0; k < groups; ++k) {
      if (t.begin > 0) std::fill_n(to, t.begin * channels, 0.);
      if (t.begin < t.end)
        CopyTaps(from, step, t.end - t.begin, channels,
                 to + t.begin * channels);
      if (t.end < taps)
        std::fill_n(to + t.end * channels, (taps - t.end) * channels, 0.);
      from += g.in_channels_per_group();
      to += group_rows;
    }
  });
}

// to += from; of a few channels without a loop of unknown length.
void AddTo(const double* from, int64_t channels, double* to) {
  int64_t c = 0;
  for (; c + 4 <= channels; c += 4)
    for (int i = 0; i < 4; ++i) to[c + i] += from[c + i];
  for (; c < channels; ++c) to[c] += from[c];
}

// The adjoint: adds the rows to x.
void Scatter(const ConvGeometry& g, const Parts::Part& part, Range outputs,
             int64_t groups, const double* rows, double* x) {
  const int64_t channels = part.channels.size();
  const int64_t step = g.window.dilation[2] * g.in_channels;
  const int64_t group_rows = outputs.size() * part.columns;
  ForEachLine(g, part, outputs, [&](int64_t row, Taps t, int64_t input) {
    for (int64_t k = 0; k < groups; ++k) {
      double* const to =
          x + (input + part.channels.begin + k * g.in_channels_per_group());
      const double* const from = rows + (row + k * group_rows);
      for (int64_t q = t.begin; q < t.end; ++q)
        AddTo(from + q * channels, channels, to + q * step);
    }
  });
}

bool IsDepthwise(const ConvGeometry& g) {
  return g.groups > 1 && g.groups == g.in_channels &&
         g.groups == g.out_channels;
}

int64_t Outputs(const ConvGeometry& g) { return g.batch * g.out_pixels(); }

// Outputs whose rows of so many columns are worked on at a time.
int64_t TileOf(int64_t columns, int64_t most) {
  constexpr int64_t kElements = 1 << 16;
  return std::clamp<int64_t>(kElements / columns, 1, most);
}

int64_t Grain(int64_t work) {
  constexpr int64_t kWork = 1 << 16;
  return std::max<int64_t>(1, kWork / std::max<int64_t>(1, work));
}

// The weight by groups and parts: [group, part, column, output channel].
Buffer WeightByParts(const ConvGeometry& g, const Parts& parts,
                     const double* weight) {
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  Buffer turned(g.out_channels * cg * g.taps());
  double* to = turned.data();
  for (int64_t group = 0; group < g.groups; ++group) {
    const double* const from = weight + group * og * cg * g.taps();
    for (int64_t k = 0; k < parts.size(); ++k) {
      const Parts::Part part = parts[k];
      ForEachColumn(g, part, [&](int64_t tap, int64_t c, int64_t column) {
        for (int64_t o = 0; o < og; ++o)
          to[column * og + o] = from[(o * cg + c) * g.taps() + tap];
      });
      to += part.columns * og;
    }
  }
  return turned;
}

// Each channel by itself, all of them side by side. `f(x, weight, y, channels)`
// gets where some channels begin, of a place of x and one of y that meet at a
// tap; the weight lies as [tap, channel].
template <typename X, typename Y, typename F>
void ForEachMeeting(const ConvGeometry& g, Range outputs, Range channels, X* x,
                    double* weight, Y* y, F&& f) {
  const Parts::Part lines = {
      {0, g.window.kernel[0] * g.window.kernel[1]}, {0, 1}, 0};
  const int64_t taps = g.taps(), all = g.in_channels;
  ForEachLine(g, lines, outputs, [&](int64_t row, Taps t, int64_t input) {
    const int64_t output = outputs.begin + row / taps, line = row % taps;
    for (int64_t q = t.begin; q < t.end; ++q)
      f(x + (input + q * g.window.dilation[2] * all + channels.begin),
        weight + (line + q) * all + channels.begin,
        y + output * all + channels.begin, channels.size());
  });
}

constexpr int64_t kChannelsOfOne = 64;

Buffer TurnedWeight(const ConvGeometry& g, const double* weight) {
  Buffer turned(g.taps() * g.in_channels);
  for (int64_t c = 0; c < g.in_channels; ++c)
    for (int64_t tap = 0; tap < g.taps(); ++tap)
      turned.data()[tap * g.in_channels + c] = weight[c * g.taps() + tap];
  return turned;
}

void DepthwiseConv(const ConvGeometry& g, const double* x, const double* weight,
                   const double* bias, double* y) {
  const Buffer turned = TurnedWeight(g, weight);
  const int64_t all = g.in_channels;
  parallel_for(
      0, Outputs(g), Grain(g.taps() * all), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          if (bias != nullptr) {
            std::copy_n(bias, all, y + k * all);
          } else {
            std::fill_n(y + k * all, all, 0.);
          }
        }
        ForEachMeeting(
            g, {begin, end}, {0, all}, x, turned.data(), y,
            [](const double* from, const double* w, double* to, int64_t n) {
              for (int64_t c = 0; c < n; ++c) to[c] += from[c] * w[c];
            });
      });
}

void DepthwiseInputGrad(const ConvGeometry& g, double* x, const double* weight,
                        const double* y) {
  const Buffer turned = TurnedWeight(g, weight);
  const int64_t all = g.in_channels, parts = CountParts(all, kChannelsOfOne);
  parallel_for(
      0, g.batch * parts, Grain(g.out_pixels() * g.taps() * kChannelsOfOne),
      [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t image = k / parts;
          const Range channels = PartOf(all, kChannelsOfOne, k % parts);
          for (int64_t p = 0; p < g.in_pixels(); ++p)
            std::fill_n(x + (image * g.in_pixels() + p) * all + channels.begin,
                        channels.size(), 0.);
          ForEachMeeting(
              g, {image * g.out_pixels(), (image + 1) * g.out_pixels()},
              channels, x, turned.data(), y,
              [](double* to, const double* w, const double* from, int64_t n) {
                for (int64_t c = 0; c < n; ++c) to[c] += from[c] * w[c];
              });
        }
      });
}

void DepthwiseWeightGrad(const ConvGeometry& g, const double* x, double* weight,
                         const double* y) {
  const int64_t all = g.in_channels;
  const Buffer turned(g.taps() * all);
  std::fill_n(turned.data(), g.taps() * all, 0.);
  parallel_for(
      0, CountParts(all, kChannelsOfOne), 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          ForEachMeeting(
              g, {0, Outputs(g)}, PartOf(all, kChannelsOfOne, k), x,
              turned.data(), y,
              [](const double* a, double* to, const double* b, int64_t n) {
                for (int64_t c = 0; c < n; ++c) to[c] += a[c] * b[c];
              });
        }
      });
  for (int64_t c = 0; c < all; ++c)
    for (int64_t tap = 0; tap < g.taps(); ++tap)
      weight[c * g.taps() + tap] = turned.data()[tap * all + c];
}

PixelsOf ChannelsLast(const double* data, int64_t pixels, int64_t channels) {
  return {const_cast<double*>(data), pixels * channels, channels, 1};
}

// Of all taps at all outputs along dim d, how many are inside.
double InsideShare(const ConvGeometry& g, int d) {
  double inside = 0;
  for (int64_t k = 0; k < g.out[d]; ++k) {
    const Taps t = TapsAt(g, d, k);
    inside += static_cast<double>(t.end - t.begin);
  }
  return inside / static_cast<double>(g.out[d]) /
         static_cast<double>(g.window.kernel[d]);
}

}  // namespace

bool SuitsConvProducts(const ConvGeometry& g) {
  constexpr double kLeastWork = 4096, kLeastShare = 0.1;
  const double work = static_cast<double>(Outputs(g)) *
                      static_cast<double>(g.taps()) *
                      static_cast<double>(g.in_channels_per_group()) *
                      static_cast<double>(g.out_channels);
  return work >= kLeastWork &&
         InsideShare(g, 0) * InsideShare(g, 1) * InsideShare(g, 2) >=
             kLeastShare;
}

void ConvProducts(const ConvGeometry& geometry, const double* x,
                  const double* weight, const double* bias, double* y) {
  const ConvGeometry g = WithInnerDims(geometry);
  if (IsPointwiseProduct(g))
    return PointwiseConv(g, ChannelsLast(x, g.in_pixels(), g.in_channels),
                         weight, bias,
                         ChannelsLast(y, g.out_pixels(), g.out_channels));
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  if (IsDepthwise(g)) return DepthwiseConv(g, x, weight, bias, y);
  const Parts parts(g, 512);
  const Buffer turned = WeightByParts(g, parts, weight);
  const int64_t together = GroupsTogether(g, parts);
  const int64_t bunches = CountParts(g.groups, together);
  const int64_t tile = TileOf(parts.most_columns() * together, 128);
  const int64_t tiles = CountParts(Outputs(g), tile);
  const DoubleProductFunction run = FindDoubleProduct();
  parallel_for(
      0, tiles * bunches, Grain(tile * cg * g.taps() * og * together),
      [&](int64_t begin, int64_t end) {
        const Buffer rows(tile * parts.most_columns() * together);
        for (int64_t k = begin; k < end; ++k) {
          const Range groups = PartOf(g.groups, together, k % bunches);
          const Range outputs = PartOf(Outputs(g), tile, k / bunches);
          int64_t before = 0;  // columns of the parts before
          for (int64_t i = 0; i < parts.size(); ++i) {
            const Parts::Part part = parts[i];
            Gather(g, part, outputs, groups.size(), x + groups.begin * cg,
                   rows.data());
            for (int64_t group = groups.begin; group < groups.end; ++group) {
              DoubleProduct p;
              p.m = outputs.size();
              p.n = og;
              p.k = part.columns;
              p.a = rows.data() +
                    (group - groups.begin) * outputs.size() * part.columns;
              p.a_row = part.columns;
              p.a_column = 1;
              p.b = turned.data() + (group * cg * g.taps() + before) * og;
              p.b_row = og;
              p.b_column = 1;
              p.bias = bias == nullptr || i > 0 ? nullptr : bias + group * og;
              p.c = y + outputs.begin * g.out_channels + group * og;
              p.c_row = g.out_channels;
              p.accumulate = i > 0;
              run(p);
            }
            before += part.columns;
          }
        }
      });
}

void ConvInputGradProducts(const ConvGeometry& geometry, double* x,
                           const double* weight, const double* y) {
  const ConvGeometry g = WithInnerDims(geometry);
  if (IsPointwiseProduct(g))
    return PointwiseInputGrad(g, ChannelsLast(x, g.in_pixels(), g.in_channels),
                              weight,
                              ChannelsLast(y, g.out_pixels(), g.out_channels));
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  if (IsDepthwise(g)) return DepthwiseInputGrad(g, x, weight, y);
  const Parts parts(g, 512);
  const Buffer turned = WeightByParts(g, parts, weight);
  const int64_t together = GroupsTogether(g, parts);
  const int64_t bunches = CountParts(g.groups, together);
  const int64_t tile = TileOf(parts.most_columns() * together, 128);
  const int64_t tiles = CountParts(g.out_pixels(), tile);
  const DoubleProductFunction run = FindDoubleProduct();
  // Rows of several outputs are added to one input, so the channels of an image
  // belong to one thread.
  const int64_t units = bunches * parts.channel_parts();
  parallel_for(
      0, g.batch * units,
      Grain(g.out_pixels() * og * parts.most_columns() * together),
      [&](int64_t begin, int64_t end) {
        const Buffer rows(tile * parts.most_columns() * together);
        for (int64_t k = begin; k < end; ++k) {
          const int64_t image = k / units;
          const Range groups =
              PartOf(g.groups, together, k % units / parts.channel_parts());
          const int64_t first = k % parts.channel_parts() * parts.line_parts();
          const Range channels = parts[first].channels;
          double* const to = x + groups.begin * cg;
          for (int64_t p = 0; p < g.in_pixels(); ++p)
            std::fill_n(to + (image * g.in_pixels() + p) * g.in_channels +
                            channels.begin,
                        channels.size() + (groups.size() - 1) * cg, 0.);
          int64_t before = 0;  // columns of the parts before
          for (int64_t i = 0; i < first; ++i) before += parts[i].columns;
          for (int64_t i = first; i < first + parts.line_parts(); ++i) {
            const Parts::Part part = parts[i];
            for (int64_t t = 0; t < tiles; ++t) {
              Range outputs = PartOf(g.out_pixels(), tile, t);
              outputs.begin += image * g.out_pixels();
              outputs.end += image * g.out_pixels();
              for (int64_t group = groups.begin; group < groups.end; ++group) {
                DoubleProduct p;
                p.m = outputs.size();
                p.n = part.columns;
                p.k = og;
                p.a = y + outputs.begin * g.out_channels + group * og;
                p.a_row = g.out_channels;
                p.a_column = 1;
                p.b = turned.data() + (group * cg * g.taps() + before) * og;
                p.b_row = 1;
                p.b_column = og;
                p.c = rows.data() +
                      (group - groups.begin) * outputs.size() * part.columns;
                p.c_row = part.columns;
                run(p);
              }
              Scatter(g, part, outputs, groups.size(), rows.data(), to);
            }
            before += part.columns;
          }
        }
      });
}

void ConvWeightGradProducts(const ConvGeometry& geometry, const double* x,
                            double* weight, const double* y) {
  const ConvGeometry g = WithInnerDims(geometry);
  if (IsPointwiseProduct(g))
    return PointwiseWeightGrad(g, ChannelsLast(x, g.in_pixels(), g.in_channels),
                               weight,
                               ChannelsLast(y, g.out_pixels(), g.out_channels));
  const int64_t cg = g.in_channels_per_group(), og = g.out_channels_per_group();
  if (IsDepthwise(g)) return DepthwiseWeightGrad(g, x, weight, y);
  const Parts parts(g, 96);
  const int64_t together = GroupsTogether(g, parts);
  const int64_t bunches = CountParts(g.groups, together);
  const int64_t tile = TileOf(parts.most_columns() * together, 256);
  const int64_t tiles = CountParts(Outputs(g), tile);
  const DoubleProductFunction run = FindDoubleProduct();
  parallel_for(0, bunches * parts.size(), 1, [&](int64_t begin, int64_t end) {
    const Buffer rows(tile * parts.most_columns() * together);
    const Buffer sums(og * parts.most_columns() * together);
    for (int64_t k = begin; k < end; ++k) {
      const Range groups = PartOf(g.groups, together, k / parts.size());
      const Parts::Part part = parts[k % parts.size()];
      const auto sums_of = [&](int64_t group) {
        return sums.data() + (group - groups.begin) * og * part.columns;
      };
      for (int64_t t = 0; t < tiles; ++t) {
        const Range outputs = PartOf(Outputs(g), tile, t);
        Gather(g, part, outputs, groups.size(), x + groups.begin * cg,
               rows.data());
        for (int64_t group = groups.begin; group < groups.end; ++group) {
          DoubleProduct p;
          p.m = og;
          p.n = part.columns;
          p.k = outputs.size();
          p.a = y + outputs.begin * g.out_channels + group * og;
          p.a_row = 1;
          p.a_column = g.out_channels;
          p.b = rows.data() +
                (group - groups.begin) * outputs.size() * part.columns;
          p.b_row = part.columns;
          p.b_column = 1;
          p.c = sums_of(group);
          p.c_row = part.columns;
          p.accumulate = t > 0;
          run(p);
        }
      }
      for (int64_t group = groups.begin; group < groups.end; ++group) {
        double* const to = weight + group * og * cg * g.taps();
        ForEachColumn(g, part, [&](int64_t tap, int64_t c, int64_t column) {
          for (int64_t o = 0; o < og; ++o)
            to[(o * cg + c) * g.taps() + tap] =
                sums_of(group)[o * part.columns + column];
        });
      }
    }
  });
}

}  // namespace proa::inline v0::ops
