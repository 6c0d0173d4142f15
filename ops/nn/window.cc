#include "ops/nn/window.h"

#include <algorithm>
#include <string>

#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

struct NamedFormat {
  std::string_view name;
  ImageFormat format;
};

constexpr NamedFormat kFormats[] = {
    {"NCHW", {2, false}}, {"NHWC", {2, true}},   {"NCL", {1, false}},
    {"NLC", {1, true}},   {"NCDHW", {3, false}}, {"NDHWC", {3, true}}};

// "NCHW or NHWC"
std::string Choices(int dims) {
  std::string text;
  for (const NamedFormat& f : kFormats) {
    if (dims != 0 && f.format.dims != dims) continue;
    if (!text.empty()) text += dims == 0 ? ", " : " or ";
    text += f.name;
  }
  return text;
}

void RequirePadding(const char* op, int64_t p) {
  PROA_REQUIRE(p >= 0 && p < kMostOfAttribute, op, ": padding ", p, " is ",
               p < 0 ? "negative" : "too large");
}

void SetSamePadding(const int64_t* sizes, int dims, Window& w) {
  for (int d = 0; d < dims; ++d) {
    w.pad_before[d] = w.pad_after[d] = 0;
    if (IsUnknown(sizes[d]) || IsUnknown(w.kernel[d])) continue;
    const int64_t outputs = (sizes[d] + w.stride[d] - 1) / w.stride[d];
    const int64_t total = std::max<int64_t>(
        (outputs - 1) * w.stride[d] + w.Extent(d) - sizes[d], 0);
    w.pad_before[d] = total / 2;
    w.pad_after[d] = total - total / 2;
  }
}

}  // namespace

const char* ImageFormat::dim_name(int d) const {
  constexpr const char* kNames[] = {"depth", "height", "width"};
  return dims == 1 ? "length" : kNames[kMostSpatialDims - dims + d];
}

Shape ImageFormat::ShapeOf(int64_t batch, int64_t channels,
                           const int64_t* sizes) const {
  Shape shape{batch};
  if (!channels_last) shape.push_back(channels);
  for (int d = 0; d < dims; ++d) shape.push_back(sizes[d]);
  if (channels_last) shape.push_back(channels);
  return shape;
}

ImageFormat ReadFormat(const char* op, std::string_view data_format, int dims) {
  for (const NamedFormat& f : kFormats)
    if (f.name == data_format && (dims == 0 || dims == f.format.dims))
      return f.format;
  Fail(absl::StatusCode::kInvalidArgument, op, ": data_format must be ",
       Choices(dims), "; it is '", data_format, "'");
}

void RequireImage(const char* op, const char* name, const Shape& s,
                  const ImageFormat& format, std::string_view data_format) {
  PROA_REQUIRE(s.rank() == format.rank(), op, ": ", name, " must have ",
               format.rank(), " dims (", data_format, "); it is ", ToString(s));
}

void ReadNumbers(const char* op, const char* name,
                 std::span<const int64_t> values, int64_t least, int dims,
                 int64_t* out) {
  const auto count = static_cast<int>(values.size());
  PROA_REQUIRE(count == 1 || count == dims, op, ": ", name, " must be 1 ",
               dims == 1 ? std::string("number")
                         : "or " + std::to_string(dims) + " numbers",
               "; it is ", ToString(values));
  for (int d = 0; d < dims; ++d) {
    out[d] = values[count == 1 ? 0 : d];
    // Unknown sizes have names; who takes -1 for one takes these.
    const bool open = least == kUnknownDim && IsUnknown(out[d]);
    PROA_REQUIRE(open || (out[d] >= least && out[d] < kMostOfAttribute), op,
                 ": ", name, " ", out[d], " is ",
                 out[d] < least ? "too small" : "too large", "; the least is ",
                 least);
  }
}

void ReadPadding(const char* op, const WindowAttributes& a,
                 const int64_t* sizes, int dims, Window& w) {
  if (a.padding_algorithm == "SAME") return SetSamePadding(sizes, dims, w);
  if (a.padding_algorithm == "VALID") return;
  PROA_REQUIRE(a.padding_algorithm == "EXPLICIT", op,
               ": padding_algorithm must be EXPLICIT, SAME or VALID; it is '",
               a.padding_algorithm, "'");
  if (static_cast<int>(a.padding.size()) != 2 * dims) {
    ReadNumbers(op, "padding", a.padding, 0, dims, w.pad_before);
    std::copy_n(w.pad_before, dims, w.pad_after);
    return;
  }
  for (int d = 0; d < dims; ++d) {
    w.pad_before[d] = a.padding[2 * d];
    w.pad_after[d] = a.padding[2 * d + 1];
    RequirePadding(op, w.pad_before[d]);
    RequirePadding(op, w.pad_after[d]);
  }
}

}  // namespace proa::inline v0::ops
