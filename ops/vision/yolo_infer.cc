#include "ops/vision/vision_checks.h"
#include "ops/vision/vision_infer.h"

namespace proa::inline v0::ops::infer {
namespace {

// How many anchors a map has, all of which are pairs.
int64_t CountOf(const char* op, std::span<const int64_t> anchors) {
  PROA_REQUIRE(!anchors.empty() && anchors.size() % 2 == 0, op,
               ": anchors must be pairs of positive numbers; they are ",
               anchors.size());
  for (const int64_t side : anchors) {
    PROA_REQUIRE(side > 0, op,
                 ": anchors must be pairs of positive numbers; one is ", side);
  }
  return static_cast<int64_t>(anchors.size()) / 2;
}

void RequireMap(const char* op, const Tensor& x, int64_t anchors,
                int64_t class_num, int64_t numbers, int64_t downsample_ratio) {
  PROA_REQUIRE(class_num > 0, op, ": class_num must be positive; it is ",
               class_num);
  PROA_REQUIRE(downsample_ratio > 0, op,
               ": downsample_ratio must be positive; it is ", downsample_ratio);
  // Far from where a sum of them would overflow.
  PROA_REQUIRE(class_num <= int64_t{1} << 40, op, ": class_num is ", class_num,
               "; that is too many");
  const int64_t channels = CheckedMul(anchors, numbers + class_num);
  PROA_REQUIRE(x.rank() == 4 && Fit(x.size(1), channels), op,
               ": x must be [N, ", channels, ", H, W] by its anchors; it is ",
               Describe(x));
}

}  // namespace

Shape yolo_boxes(const char* op, const Tensor& x, const Tensor& img_size,
                 std::span<const int64_t> anchors, int64_t class_num,
                 int64_t downsample_ratio, bool iou_aware, int64_t columns) {
  const int64_t count = CountOf(op, anchors);
  RequireMap(op, x, count, class_num, iou_aware ? 6 : 5, downsample_ratio);
  PROA_REQUIRE(HasShape(img_size, {x.size(0), 2}), op, ": img_size must be ",
               ToString(Shape{x.size(0), 2}), "; it is ", Describe(img_size));
  return {x.size(0), Product({count, x.size(2), x.size(3)}), columns};
}

Shape yolo_loss(const char* op, const Tensor& x, const Tensor& gt_box,
                const Tensor& gt_label, const Tensor& gt_score,
                std::span<const int64_t> anchors,
                std::span<const int64_t> anchor_mask, int64_t class_num,
                int64_t downsample_ratio) {
  const int64_t all = CountOf(op, anchors);
  PROA_REQUIRE(!anchor_mask.empty(), op, ": anchor_mask must be numbers of ",
               all, " anchors; there are none");
  for (const int64_t i : anchor_mask) {
    PROA_REQUIRE(i >= 0 && i < all, op, ": anchor_mask must be numbers of ",
                 all, " anchors; one is ", i);
  }
  RequireMap(op, x, static_cast<int64_t>(anchor_mask.size()), class_num, 5,
             downsample_ratio);
  const int64_t n = x.size(0);
  RequireDTypeOf(op, "gt_box", gt_box, "x", x);
  PROA_REQUIRE(
      gt_box.rank() == 3 && Fit(gt_box.size(0), n) && Fit(gt_box.size(2), 4),
      op, ": gt_box must be [", n, ", B, 4]; it is ", Describe(gt_box));
  const int64_t boxes = gt_box.size(1);
  RequireInt(op, "gt_label", gt_label);
  if (gt_score.defined()) RequireDTypeOf(op, "gt_score", gt_score, "x", x);
  const auto each = [&](const char* name, const Tensor& t) {
    PROA_REQUIRE(!t.defined() || HasShape(t, {n, boxes}), op, ": ", name,
                 " must be ", ToString(Shape{n, boxes}), "; it is ",
                 Describe(t));
  };
  each("gt_label", gt_label);
  each("gt_score", gt_score);
  return {n};
}

Shape yolo_loss_grad(const char* op, const Tensor& dy, const Tensor& x,
                     const Tensor& gt_box, const Tensor& gt_label,
                     const Tensor& gt_score, std::span<const int64_t> anchors,
                     std::span<const int64_t> anchor_mask, int64_t class_num,
                     int64_t downsample_ratio) {
  const Shape loss = yolo_loss(op, x, gt_box, gt_label, gt_score, anchors,
                               anchor_mask, class_num, downsample_ratio);
  RequireDTypeOf(op, "dy", dy, "x", x);
  PROA_REQUIRE(HasShape(dy, {loss[0]}), op, ": dy must be ", ToString(loss),
               "; it is ", Describe(dy));
  return x.shape();
}

}  // namespace proa::inline v0::ops::infer
