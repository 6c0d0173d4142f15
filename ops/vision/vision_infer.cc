#include "ops/vision/vision_infer.h"

#include <string>

#include "ops/infer.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

constexpr int64_t kMostPoints = 4096;

bool Differ(int64_t a, int64_t b) {
  return !IsUnknown(a) && !IsUnknown(b) && a != b;
}

void RequireImages(const char* op, const Tensor& x) {
  PROA_REQUIRE(x.rank() == 4, op, ": x must be [N, C, H, W]; it is ",
               Describe(x));
}

void RequireCounts(const char* op, const Tensor& boxes_num, int64_t images) {
  if (boxes_num.dtype() != DType::kInt32 &&
      boxes_num.dtype() != DType::kInt64) {
    ThrowTypeError(std::string(op) +
                   ": boxes_num must be int32 or int64; it is " +
                   Describe(boxes_num));
  }
  PROA_REQUIRE(boxes_num.rank() == 1 && !Differ(boxes_num.size(0), images), op,
               ": boxes_num must have a number for each of ", images,
               " images; it is ", Describe(boxes_num));
}

void RequireBoxes(const char* op, const Tensor& x, const char* name,
                  const Tensor& boxes, const Tensor& boxes_num,
                  int64_t images) {
  if (boxes.dtype() != x.dtype()) {
    ThrowTypeError(std::string(op) + ": boxes must have the dtype of " + name +
                   "; " + name + " is " + Describe(x) + ", boxes is " +
                   Describe(boxes));
  }
  PROA_REQUIRE(boxes.rank() == 2 && !Differ(boxes.size(1), 4), op,
               ": boxes must be [regions, 4]; it is ", Describe(boxes));
  RequireCounts(op, boxes_num, images);
}

void RequirePooled(const char* op, int64_t height, int64_t width) {
  PROA_REQUIRE(!IsUnknown(height) && !IsUnknown(width), op,
               ": the pooled size must be known");
  PROA_REQUIRE(height > 0 && width > 0, op, ": the pooled size is ", height,
               " x ", width, "; it must be positive");
}

void RequireRatio(const char* op, int64_t sampling_ratio) {
  PROA_REQUIRE(sampling_ratio <= kMostPoints, op, ": sampling_ratio is ",
               sampling_ratio, "; it may be ", kMostPoints, " at most");
}

}  // namespace

Shape regions(const char* op, const Tensor& x, const Tensor& boxes,
              const Tensor& boxes_num, int64_t height, int64_t width,
              int64_t sampling_ratio) {
  RequireImages(op, x);
  RequireBoxes(op, x, "x", boxes, boxes_num, x.size(0));
  RequirePooled(op, height, width);
  RequireRatio(op, sampling_ratio);
  const Shape out{boxes.size(0), x.size(1), height, width};
  out.numel();  // refuses what no number counts
  return out;
}

Shape regions_grad(const char* op, const Tensor& dy, const Tensor& boxes,
                   const Tensor& boxes_num, const IntArray& shape,
                   int64_t sampling_ratio) {
  RequireRatio(op, sampling_ratio);
  const Shape out = sizes(op, shape);
  PROA_REQUIRE(out.rank() == 4, op, ": shape must be [N, C, H, W]; it is ",
               ToString(out));
  RequireBoxes(op, dy, "dy", boxes, boxes_num, out[0]);
  PROA_REQUIRE(dy.rank() == 4 && !Differ(dy.size(0), boxes.size(0)) &&
                   !Differ(dy.size(1), out[1]),
               op, ": dy must be [", boxes.size(0), ", ", out[1],
               ", h, w] by the boxes and x's shape; it is ", Describe(dy));
  for (const int d : {2, 3}) {
    PROA_REQUIRE(IsUnknown(dy.size(d)) || dy.size(d) > 0, op,
                 ": the pooled size must be positive; dy is ", Describe(dy));
  }
  return out;
}

Shape part_regions(const char* op, const Tensor& x, const Tensor& boxes,
                   const Tensor& boxes_num, int64_t height, int64_t width,
                   int64_t channels) {
  RequireImages(op, x);
  RequireBoxes(op, x, "x", boxes, boxes_num, x.size(0));
  RequirePooled(op, height, width);
  PROA_REQUIRE(!IsUnknown(channels), op, ": output_channels must be known");
  PROA_REQUIRE(channels > 0, op, ": output_channels is ", channels,
               "; it must be positive");
  const int64_t all = CheckedMul(CheckedMul(height, width), channels);
  PROA_REQUIRE(!Differ(x.size(1), all), op, ": x must have ", all,
               " channels, ", channels, " for each of ", height, " x ", width,
               " parts; it is ", Describe(x));
  const Shape out{boxes.size(0), channels, height, width};
  out.numel();  // refuses what no number counts
  return out;
}

Shape part_regions_grad(const char* op, const Tensor& dy, const Tensor& boxes,
                        const Tensor& boxes_num, const IntArray& shape) {
  const Shape out = sizes(op, shape);
  PROA_REQUIRE(out.rank() == 4, op, ": shape must be [N, C, H, W]; it is ",
               ToString(out));
  RequireBoxes(op, dy, "dy", boxes, boxes_num, out[0]);
  bool fits = dy.rank() == 4 && !Differ(dy.size(0), boxes.size(0));
  if (fits && dy.shape().known()) {
    fits = !Differ(dy.size(1) * dy.size(2) * dy.size(3), out[1]);
  }
  PROA_REQUIRE(fits, op, ": dy does not belong to x's shape ", ToString(out),
               "; it is ", Describe(dy));
  return out;
}

Shape chosen(const char* op, const Tensor& x, const Tensor& argmax,
             const Tensor& boxes_num) {
  RequireImages(op, x);
  RequireCounts(op, boxes_num, x.size(0));
  if (argmax.dtype() != DType::kInt64) {
    ThrowTypeError(std::string(op) + ": argmax must be int64; it is " +
                   Describe(argmax));
  }
  PROA_REQUIRE(argmax.rank() == 4 && !Differ(argmax.size(1), x.size(1)), op,
               ": argmax must be [regions, ", x.size(1), ", h, w]; it is ",
               Describe(argmax));
  return argmax.shape();
}

Shape chosen_grad(const char* op, const Tensor& dy, const Tensor& argmax,
                  const Tensor& boxes_num, const IntArray& shape) {
  const Shape out = sizes(op, shape);
  PROA_REQUIRE(out.rank() == 4, op, ": shape must be [N, C, H, W]; it is ",
               ToString(out));
  RequireCounts(op, boxes_num, out[0]);
  if (argmax.dtype() != DType::kInt64) {
    ThrowTypeError(std::string(op) + ": argmax must be int64; it is " +
                   Describe(argmax));
  }
  bool fits =
      argmax.rank() == 4 && dy.rank() == 4 && !Differ(argmax.size(1), out[1]);
  for (int i = 0; fits && i < 4; ++i) {
    fits = !Differ(argmax.size(i), dy.size(i));
  }
  PROA_REQUIRE(fits, op, ": dy and argmax must be [regions, ", out[1],
               ", h, w]; dy is ", Describe(dy), ", argmax is ",
               Describe(argmax));
  return out;
}

}  // namespace proa::inline v0::ops::infer
