#include "ops/nn/conv_tiles.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/linalg/tile_product.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/strided_pixels.h"
#include "ops/nn/weight_grad_parts.h"
#include "ops/onednn/packed_weights.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/place.h"
#include "tensor/storage.h"

namespace proa::inline v0::ops {
namespace {

constexpr int64_t kItem = 2;  // bytes of a bfloat16

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What a tile sums over, of one tap: the channels of a pixel; or, where those
// would not fill it, those of all pixels of a line of taps, side by side.
struct Depth {
  bool is_line;
  int64_t used, size;  // elements, without and with those of zeros behind

  explicit Depth(const ConvGeometry& inner)
      : is_line(inner.in_channels % kTileDepth != 0),
        used(inner.in_channels * (is_line ? inner.window.kernel[2] : 1)),
        size(DivideUp(used, kTileDepth) * kTileDepth) {}
};

// One dim of a padded copy. Pixels that lie a stride apart are side by side in
// it: those of one remainder, a phase, one behind the other.
struct PaddedDim {
  int64_t in, out, stride, pad;
  int64_t size = 0;             // pixels of a phase
  std::vector<int64_t> phases;  // remainders that taps have
  std::vector<int64_t> phase;   // of each tap, in `phases`
  std::vector<int64_t> shift;   // of each tap, in pixels of its phase

  PaddedDim(const ConvGeometry& g, int d, int64_t taps)
      : in(g.in[d]),
        out(g.out[d]),
        stride(g.window.stride[d]),
        pad(g.window.pad_before[d]) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t at = tap * g.window.dilation[d];
      const auto known = std::find(phases.begin(), phases.end(), at % stride);
      phase.push_back(known - phases.begin());
      if (known == phases.end()) phases.push_back(at % stride);
      shift.push_back(at / stride);
      size = std::max(size, at / stride + out);
    }
  }

  // Where pixel `i` of a phase lies in the image, perhaps outside.
  int64_t At(int64_t phase_index, int64_t i) const {
    return i * stride + phases[phase_index] - pad;
  }
};

// The images of a part with their padding: [phases of each dim, images, pixels
// of each dim, depth].
class PaddedImages {
 public:
  explicit PaddedImages(const ConvGeometry& inner)
      : depth_(inner),
        images_(inner.batch),
        pixel_bytes_(inner.in_channels * kItem),
        copy_bytes_(depth_.size * kItem) {
    for (int d = 0; d < kMostSpatialDims; ++d) {
      const bool as_line = d == kMostSpatialDims - 1 && depth_.is_line;
      dims_.emplace_back(inner, d, as_line ? 1 : inner.window.kernel[d]);
    }
  }

  int64_t bytes() const {
    return count(0) * count(1) * count(2) * plane() * copy_bytes_;
  }

  // Where in the copy the first output sees each tap.
  std::vector<int64_t> TapBytes() const {
    std::vector<int64_t> bytes;
    for (size_t a = 0; a < dims_[0].phase.size(); ++a) {
      for (size_t b = 0; b < dims_[1].phase.size(); ++b) {
        for (size_t c = 0; c < dims_[2].phase.size(); ++c) {
          const int64_t phase =
              (dims_[0].phase[a] * count(1) + dims_[1].phase[b]) * count(2) +
              dims_[2].phase[c];
          const int64_t shift =
              (dims_[0].shift[a] * dims_[1].size + dims_[1].shift[b]) *
                  dims_[2].size +
              dims_[2].shift[c];
          bytes.push_back((phase * plane() + shift) * copy_bytes_);
        }
      }
    }
    return bytes;
  }

  // Of each pixel of a phase up to the last output, which output it begins; -1
  // where there is none.
  std::vector<int64_t> Outputs() const {
    std::vector<int64_t> rows;
    rows.reserve(plane());
    int64_t output = 0;
    for (int64_t image = 0; image < images_; ++image) {
      for (int64_t a = 0; a < dims_[0].size; ++a) {
        for (int64_t b = 0; b < dims_[1].size; ++b) {
          const bool inside = a < dims_[0].out && b < dims_[1].out;
          for (int64_t c = 0; c < dims_[2].size; ++c)
            rows.push_back(inside && c < dims_[2].out ? output++ : -1);
        }
      }
    }
    while (!rows.empty() && rows.back() < 0) rows.pop_back();
    return rows;
  }

  void Copy(const char* x, char* to) const {
    for (int64_t a = 0; a < count(0); ++a) {
      for (int64_t b = 0; b < count(1); ++b) {
        for (int64_t c = 0; c < count(2); ++c) {
          const char* image = x;
          for (int64_t k = 0; k < images_; ++k) {
            to = CopyPhase(image, {a, b, c}, to);
            image += dims_[0].in * dims_[1].in * dims_[2].in * pixel_bytes_;
          }
        }
      }
    }
  }

 private:
  int64_t count(int d) const {
    return static_cast<int64_t>(dims_[d].phases.size());
  }
  int64_t plane() const {
    return images_ * dims_[0].size * dims_[1].size * dims_[2].size;
  }

  // Pixels of a line, a stride apart, with what is outside of it.
  char* CopyPixels(int64_t phase, const char* from, char* to) const {
    const PaddedDim& line = dims_[2];
    // Of the pixels of the phase those in [begin, end) are inside.
    const int64_t first = line.At(phase, 0);
    const int64_t begin =
        std::min(line.size, first >= 0 ? 0 : DivideUp(-first, line.stride));
    const int64_t end =
        std::clamp(DivideUp(std::max<int64_t>(0, line.in - first), line.stride),
                   begin, line.size);
    std::memset(to, 0, begin * pixel_bytes_);
    to += begin * pixel_bytes_;
    from += (first + begin * line.stride) * pixel_bytes_;
    if (line.stride == 1) {
      std::memcpy(to, from, (end - begin) * pixel_bytes_);
      to += (end - begin) * pixel_bytes_;
    } else {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(to, from, pixel_bytes_);
        from += line.stride * pixel_bytes_;
        to += pixel_bytes_;
      }
    }
    std::memset(to, 0, (line.size - end) * pixel_bytes_);
    return to + (line.size - end) * pixel_bytes_;
  }

  // What each output of a line sees of it.
  char* CopyWindows(const char* from, char* to) const {
    const PaddedDim& line = dims_[2];
    const int64_t taps = depth_.used * kItem / pixel_bytes_;
    for (int64_t i = 0; i < line.out; ++i) {
      const int64_t first = line.At(0, i);
      const int64_t begin = std::clamp<int64_t>(-first, 0, taps);
      const int64_t end = std::clamp(line.in - first, begin, taps);
      if (end - begin < taps || depth_.used < depth_.size)
        std::memset(to, 0, copy_bytes_);
      std::memcpy(to + begin * pixel_bytes_,
                  from + (first + begin) * pixel_bytes_,
                  (end - begin) * pixel_bytes_);
      to += copy_bytes_;
    }
    return to;
  }

  char* CopyPhase(const char* image, const std::array<int64_t, 3>& phase,
                  char* to) const {
    const int64_t line_bytes = dims_[2].size * copy_bytes_;
    for (int64_t i = 0; i < dims_[0].size; ++i) {
      const int64_t a = dims_[0].At(phase[0], i);
      for (int64_t j = 0; j < dims_[1].size; ++j) {
        const int64_t b = dims_[1].At(phase[1], j);
        const char* const line =
            image + (a * dims_[1].in + b) * dims_[2].in * pixel_bytes_;
        if (a < 0 || a >= dims_[0].in || b < 0 || b >= dims_[1].in) {
          std::memset(to, 0, line_bytes);
          to += line_bytes;
        } else if (depth_.is_line) {
          to = CopyWindows(line, to);
        } else {
          to = CopyPixels(phase[2], line, to);
        }
      }
    }
    return to;
  }

  Depth depth_;
  std::vector<PaddedDim> dims_;
  int64_t images_, pixel_bytes_, copy_bytes_;
};

// Lines of taps one below the other, filled up with zeros: [lines, depth, out].
std::vector<uint16_t> ByLines(const TilePack& weight, int64_t lines,
                              int64_t channels) {
  const int64_t taps = weight.taps / lines;
  const int64_t size = DivideUp(taps * channels, kTileDepth) * kTileDepth;
  std::vector<uint16_t> out(lines * size * weight.columns);
  const auto* const from = static_cast<const uint16_t*>(weight.from);
  for (int64_t tap = 0; tap < weight.taps; ++tap) {
    for (int64_t c = 0; c < channels; ++c) {
      uint16_t* const to =
          out.data() +
          (tap / taps * size + tap % taps * channels + c) * weight.columns;
      for (int64_t o = 0; o < weight.columns; ++o)
        to[o] = from[tap * weight.tap_stride + c * weight.row_stride +
                     o * weight.column_stride];
    }
  }
  return out;
}

// Parameters of OrderOf.
void PackWeight(const Tensor& weight, const onednn::PackOrder& order,
                void* to) {
  const bool forward =
      order.parameters[3] % 2 == static_cast<int64_t>(TileWeight::kForward);
  const int64_t lines = order.parameters[3] / 2;
  const int64_t channels = order.parameters[1];
  TilePack pack;
  pack.taps = order.parameters[0];
  pack.depth = channels;
  pack.columns = order.parameters[2];
  const auto* from = static_cast<const uint16_t*>(weight.raw_data());
  pack.from = forward ? from : from + (pack.taps - 1);
  pack.tap_stride = forward ? 1 : -1;
  pack.row_stride = forward ? pack.taps : pack.taps * pack.columns;
  pack.column_stride = forward ? pack.taps * channels : pack.taps;
  pack.to = to;
  if (lines == 0) return PackInTiles(pack);
  const std::vector<uint16_t> by_lines = ByLines(pack, lines, channels);
  pack.from = by_lines.data();
  pack.taps = lines;
  pack.depth = static_cast<int64_t>(by_lines.size()) / (lines * pack.columns);
  pack.column_stride = 1;
  pack.row_stride = pack.columns;
  pack.tap_stride = pack.depth * pack.columns;
  PackInTiles(pack);
}

// Parameters: taps, channels, outputs, and how the weight lies: TileWeight and,
// times 2, the lines of taps where one is summed over at a time.
onednn::PackOrder OrderOf(const ConvGeometry& inner, TileWeight order) {
  const Depth depth(inner);
  const int64_t lines = inner.window.kernel[0] * inner.window.kernel[1];
  return {&PackWeight,
          {inner.taps(), inner.in_channels, inner.out_channels,
           static_cast<int64_t>(order) + (depth.is_line ? 2 * lines : 0)},
          CountPanels(inner.out_channels) *
              PanelBytes(depth.is_line ? lines : inner.taps(), depth.size)};
}

// Parts of the images, whose copies stay in the second cache of a core, and of
// the channels of outputs, whole panels: as many as there are threads.
struct Cut {
  std::vector<WeightGradPart> parts;
  int64_t columns;
};

Cut CutOf(const ConvGeometry& g) {
  constexpr int64_t kCachedBytes = 512 << 10, kFewRows = 4;
  const int64_t threads = InParallelRegion() ? 1 : GetNumThreads();
  ConvGeometry one = g;
  one.batch = 1;
  const int64_t image_bytes = PaddedImages(WithInnerDims(one)).bytes();
  const int64_t weight_bytes = g.WeightShape().numel() * kItem;
  const int64_t most_rows = std::max<int64_t>(1, g.out[0] / kFewRows);
  int64_t row_parts = std::min(most_rows, DivideUp(image_bytes, kCachedBytes));
  int64_t image_parts =
      row_parts > 1
          ? g.batch
          : DivideUp(g.batch, std::max<int64_t>(1, kCachedBytes / image_bytes));
  int64_t across = 1;
  const int64_t parts = image_parts * row_parts;
  if (parts < 4 * threads && parts % threads != 0) {
    // Parts of the images would each read the whole weight.
    if (weight_bytes > image_bytes * g.batch / image_parts / row_parts) {
      across = threads;
    } else if (image_parts == g.batch) {
      row_parts = std::min(most_rows, DivideUp(row_parts, threads) * threads);
    } else {
      image_parts = std::min(g.batch, DivideUp(image_parts, threads) * threads);
    }
    if (image_parts * row_parts < threads) across = threads;
  }
  const int64_t panels = CountPanels(g.out_channels);
  Cut cut;
  cut.columns = DivideUp(panels, across) * kPanelColumns;
  for (int64_t i = 0; i < image_parts; ++i) {
    for (int64_t r = 0; r < row_parts; ++r) {
      WeightGradPart part = WholeOf(g);
      part.images = {g.batch * i / image_parts,
                     g.batch * (i + 1) / image_parts};
      part.rows = {g.out[0] * r / row_parts, g.out[0] * (r + 1) / row_parts};
      cut.parts.push_back(part);
    }
  }
  return cut;
}

// A line of pixels as a column of rows: those are what parts have some of. The
// elements lie as they did, those of the weight too.
ConvGeometry AsColumn(ConvGeometry g) {
  const Window& w = g.window;
  if (g.dims() != 2 || g.in[0] != 1 || g.out[0] != 1 || w.kernel[0] != 1)
    return g;
  std::swap(g.in[0], g.in[1]);
  std::swap(g.out[0], g.out[1]);
  for (auto* const of : {&g.window.kernel, &g.window.stride, &g.window.dilation,
                         &g.window.pad_before, &g.window.pad_after})
    std::swap((*of)[0], (*of)[1]);
  return g;
}

}  // namespace

bool SuitsConvTiles(const ConvGeometry& g) {
  constexpr int64_t kNarrow = 16, kLongLine = 128;
  if (!HasTiles() || g.groups != 1 || g.out_channels < kNarrow) return false;
  const ConvGeometry inner = WithInnerDims(g);
  const Depth depth(inner);
  return !depth.is_line ||
         (depth.used <= kLongLine && depth.size <= 2 * depth.used &&
          inner.window.dilation[2] == 1);
}

void ConvTiles(const ConvGeometry& geometry, const Tensor& x,
               const Tensor& weight, TileWeight order, const Tensor& bias,
               const Tensor& y,
               absl::FunctionRef<void(const GemmPart& part)> done,
               const ConvSum& sum) {
  // Of few channels a line of taps is summed over, which stays a line.
  const bool is_line = Depth(WithInnerDims(geometry)).is_line;
  const ConvGeometry g = is_line ? geometry : AsColumn(geometry);
  const ConvGeometry inner = WithInnerDims(g);
  const Depth depth(inner);
  const onednn::PackedWeights packed(weight, OrderOf(inner, order));
  const Tensor wide_bias = FloatCopy(bias, DType::kFloat32);
  TileProduct whole;
  whole.depth = depth.size;
  whole.columns = g.out_channels;
  whole.a_row_bytes = depth.size * kItem;
  whole.panels = packed.data();
  if (bias.defined()) whole.bias = wide_bias.data<float>();
  whole.c_row_bytes = g.out_channels * kItem;
  if (sum.addend.defined()) whole.addend = sum.addend.raw_data();
  whole.relu = sum.relu;
  if (IsPointwise(g) && !IsStridedPointwise(g) && !depth.is_line) {
    constexpr int64_t kNoTap = 0;
    whole.rows = g.batch * g.out_pixels();
    whole.a = x.raw_data();
    whole.tap_bytes = &kNoTap;
    whole.c = y.raw_data();
    return MultiplyInTiles(whole, done);
  }
  const Cut cut = CutOf(g);
  const int64_t across = DivideUp(g.out_channels, cut.columns);
  const auto count = static_cast<int64_t>(cut.parts.size()) * across;
  parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const WeightGradPart& part = cut.parts[i / across];
      const int64_t column = i % across * cut.columns;
      int64_t first_row;
      const ConvGeometry own = GeometryOfPart(g, part, &first_row);
      const PaddedImages images(WithInnerDims(own));
      const auto copy = Storage::Allocate(images.bytes(), Place());
      const int64_t in_row = g.in_pixels() / g.in[0] * g.in_channels;
      images.Copy(x.data<char>() + (part.images.begin * g.in[0] + first_row) *
                                       in_row * kItem,
                  static_cast<char*>(copy->data()));
      const std::vector<int64_t> taps = images.TapBytes();
      const std::vector<int64_t> outputs = images.Outputs();
      const int64_t out_row = g.out_pixels() / g.out[0] * g.out_channels;
      TileProduct p = whole;
      p.rows = static_cast<int64_t>(outputs.size());
      p.columns = std::min(cut.columns, g.out_channels - column);
      p.a = copy->data();
      p.taps = static_cast<int64_t>(taps.size());
      p.tap_bytes = taps.data();
      p.panels = static_cast<const char*>(packed.data()) +
                 column / kPanelColumns * PanelBytes(p.taps, p.depth);
      if (p.bias != nullptr) p.bias += column;
      const int64_t c_byte =
          ((part.images.begin * g.out[0] + part.rows.begin) * out_row +
           column) *
          kItem;
      p.c = y.data<char>() + c_byte;
      if (p.addend != nullptr)
        p.addend = static_cast<const char*>(p.addend) + c_byte;
      p.c_rows = outputs.data();
      // A part has all rows of its images, or is of one image.
      const int64_t first = (part.images.begin * g.out[0] + part.rows.begin) *
                            (out_row / g.out_channels);
      MultiplyThen(p, [&](const GemmPart& inner) {
        done({first, own.batch * own.out_pixels(), column + inner.column,
              inner.columns});
      });
    }
  });
}

}  // namespace proa::inline v0::ops
