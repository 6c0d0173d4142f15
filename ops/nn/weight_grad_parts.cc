#include "ops/nn/weight_grad_parts.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace proa::inline v0::ops {
namespace {

constexpr int64_t kMostParts = 16;
// Multiply-adds that are worth a part: 0.1 ms.
constexpr double kWorkOfPart = 1 << 21;
// Channels of a part: several vectors of them, so that as much is computed of
// what is loaded as in the whole.
constexpr int64_t kLeastChannels = 64;
constexpr int64_t kVector = 16;
// Elements of the gradients that are added up: 64 MiB.
constexpr double kMostElements = 1 << 24;
// Pixels of a part: adding up its gradient is little beside computing it.
constexpr int64_t kLeastPixels = 512, kLeastPixelsOfProduct = 192;

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Part k of n of [0, size).
PartRange Part(int64_t size, int64_t k, int64_t n) {
  return {size * k / n, size * (k + 1) / n};
}

// A power of two, which threads share evenly: of three parts one of two threads
// would have two.
int64_t WorthwhileParts(const ConvGeometry& g) {
  const double pixels = static_cast<double>(g.batch) * g.out_pixels();
  const double work = pixels * static_cast<double>(g.WeightShape().numel());
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(
      std::clamp<double>(work / kWorkOfPart, 1, kMostParts))));
}

}  // namespace

WeightGradParts::WeightGradParts(const ConvGeometry& g, Way way)
    : images_(g.batch), rows_(g.out[0]), channels_(g.out_channels) {
  const double pixels = static_cast<double>(g.batch) * g.out_pixels();
  const int64_t wanted = WorthwhileParts(g);
  const bool product = way == Way::kProduct;
  const int64_t most_channel_parts =
      g.groups == 1 || way == Way::kChannelwise
          ? std::max<int64_t>(channels_ / kLeastChannels, 1)
          : 1;
  const auto most_sums = static_cast<int64_t>(std::clamp<double>(
      std::min(pixels / (product ? kLeastPixelsOfProduct : kLeastPixels),
               kMostElements / g.WeightShape().numel()),
      1, kMostParts));
  channel_parts_ = std::min(most_channel_parts,
                            product ? DivideUp(wanted, most_sums) : wanted);
  const int64_t sums = std::min(DivideUp(wanted, channel_parts_), most_sums);
  image_parts_ = std::min(sums, images_);
  if (image_parts_ == images_)
    row_parts_ = std::min(DivideUp(sums, image_parts_), rows_);
}

WeightGradPart WeightGradParts::operator[](int64_t k) const {
  const int64_t sum = sum_of(k);
  WeightGradPart part;
  part.images = Part(images_, sum / row_parts_, image_parts_);
  part.rows = Part(rows_, sum % row_parts_, row_parts_);
  // Whole vectors, but for the last part.
  const int64_t vectors = DivideUp(channels_, kVector);
  part.channels = Part(vectors, k % channel_parts_, channel_parts_);
  part.channels = {part.channels.begin * kVector,
                   std::min(part.channels.end * kVector, channels_)};
  return part;
}

WeightGradPart WholeOf(const ConvGeometry& g) {
  return {{0, g.batch}, {0, g.out[0]}, {0, g.out_channels}};
}

std::vector<WeightGradPart> PixelParts(const ConvGeometry& g, bool rows) {
  const int64_t wanted = WorthwhileParts(g);
  const int64_t image_parts = std::min(wanted, g.batch);
  int64_t row_parts = 1;
  if (rows && image_parts == g.batch)
    row_parts = std::min(DivideUp(wanted, image_parts), g.out[0]);
  std::vector<WeightGradPart> parts;
  for (int64_t i = 0; i < image_parts; ++i) {
    for (int64_t r = 0; r < row_parts; ++r) {
      WeightGradPart part = WholeOf(g);
      part.images = Part(g.batch, i, image_parts);
      part.rows = Part(g.out[0], r, row_parts);
      int64_t first_row;
      // Rows that see padding only are no convolution of their own.
      if (GeometryOfPart(g, part, &first_row).in[0] == 0)
        return PixelParts(g, /*rows=*/false);
      parts.push_back(part);
    }
  }
  return parts;
}

std::vector<WeightGradPart> ChannelParts(const ConvGeometry& g) {
  // Fewer parts than this do with fewer channels.
  constexpr int64_t kFewParts = 4, kLeastChannelsOfFew = 32;
  if (g.groups != 1 || g.WeightShape().numel() <= g.InputShape().numel())
    return {};
  const int64_t worthwhile = WorthwhileParts(g);
  int64_t count = kMostParts;
  const auto fits = [&](int64_t least) {
    return count <= worthwhile && g.out_channels % (count * kVector) == 0 &&
           g.out_channels / count >= least;
  };
  while (count > kFewParts && !fits(kLeastChannels)) count /= 2;
  if (count == kFewParts && !fits(kLeastChannelsOfFew)) count /= 2;
  if (count < kFewParts && !fits(kLeastChannels)) return {};
  std::vector<WeightGradPart> parts(count, WholeOf(g));
  for (int64_t k = 0; k < count; ++k)
    parts[k].channels = Part(g.out_channels, k, count);
  return parts;
}

std::vector<WeightGradPart> CachedParts(const ConvGeometry& g, int64_t item) {
  constexpr int64_t kLeastBytes = 1 << 20, kBytesOfPart = 384 << 10;
  constexpr int64_t kMostWeightBytes = 512 << 10, kLeastParts = 16;
  const int64_t bytes = g.OutputShape().numel() * item;
  if (bytes < kLeastBytes || g.empty() ||
      g.WeightShape().numel() * item > kMostWeightBytes) {
    return {};
  }
  const int64_t wanted = std::max(kLeastParts, DivideUp(bytes, kBytesOfPart));
  const int64_t row_parts = std::min(DivideUp(wanted, g.batch), g.out[0]);
  const int64_t image_parts =
      row_parts > 1 ? g.batch : std::min(wanted, g.batch);
  std::vector<WeightGradPart> parts;
  for (int64_t i = 0; i < image_parts; ++i) {
    for (int64_t r = 0; r < row_parts; ++r) {
      WeightGradPart part = WholeOf(g);
      part.images = Part(g.batch, i, image_parts);
      part.rows = Part(g.out[0], r, row_parts);
      int64_t first_row;
      // Rows that see padding only are no convolution of their own.
      if (GeometryOfPart(g, part, &first_row).in[0] == 0) return {};
      parts.push_back(part);
    }
  }
  return parts;
}

ConvGeometry GeometryOfPart(const ConvGeometry& g, const WeightGradPart& part,
                            int64_t* first_row) {
  ConvGeometry p = g;
  p.batch = part.images.size();
  p.out_channels = part.channels.size();
  *first_row = 0;
  if (part.rows.size() == g.out[0]) return p;
  const Window& w = g.window;
  p.out[0] = part.rows.size();
  const int64_t from = part.rows.begin * w.stride[0] - w.pad_before[0];
  const int64_t to =
      (part.rows.end - 1) * w.stride[0] - w.pad_before[0] + w.Extent(0);
  *first_row = std::clamp<int64_t>(from, 0, g.in[0]);
  const int64_t last = std::clamp<int64_t>(to, *first_row, g.in[0]);
  p.in[0] = last - *first_row;
  p.window.pad_before[0] = *first_row - from;
  p.window.pad_after[0] = to - last;
  return p;
}

PartRange InsideOfTap(const ConvGeometry& g, int d, int64_t q) {
  const int64_t stride = g.window.stride[d];
  // Output i sees position i * stride + shift.
  const int64_t shift = q * g.window.dilation[d] - g.window.pad_before[d];
  const int64_t begin = shift >= 0 ? 0 : DivideUp(-shift, stride);
  const int64_t last = g.in[d] - 1 - shift;
  const int64_t end = last < 0 ? 0 : std::min(g.out[d], last / stride + 1);
  return {begin, std::max(begin, end)};
}

bool SeesPaddingOnly(const ConvGeometry& g, int d, int64_t q) {
  return InsideOfTap(g, d, q).size() == 0;
}

}  // namespace proa::inline v0::ops
