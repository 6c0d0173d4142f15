#include "ops/vision/vision_checks.h"
#include "ops/vision/vision_infer.h"

namespace proa::inline v0::ops::infer {

Shape nms(const char* op, const Tensor& boxes, const Tensor& scores,
          const Tensor& category_idxs, std::span<const int64_t>,
          std::optional<int64_t> top_k) {
  PROA_REQUIRE(boxes.rank() == 2 && Fit(boxes.size(1), 4), op,
               ": boxes must be [N, 4]; it is ", Describe(boxes));
  const int64_t count = boxes.size(0);
  PROA_REQUIRE(!category_idxs.defined() || scores.defined(), op,
               ": category_idxs needs scores");
  const auto each = [&](const char* name, const Tensor& t) {
    PROA_REQUIRE(!t.defined() || HasShape(t, {count}), op, ": ", name,
                 " must be [", count, "], as boxes are; it is ", Describe(t));
  };
  each("scores", scores);
  each("category_idxs", category_idxs);
  if (category_idxs.defined()) RequireInt(op, "category_idxs", category_idxs);
  if (scores.defined() && scores.dtype() != DType::kFloat32 &&
      scores.dtype() != DType::kFloat64 && !IsInteger(scores.dtype())) {
    ThrowTypeError(std::string(op) +
                   ": scores must be float32, float64 or integers; it is " +
                   Describe(scores));
  }
  PROA_REQUIRE(!top_k.has_value() || *top_k >= 0, op,
               ": top_k must not be negative; it is ", top_k.value_or(0));
  return {kUnknownDim};
}

namespace {

// How many images there are, after checking boxes and scores of them.
int64_t ImagesOf(const char* op, const Tensor& bboxes, const Tensor& scores,
                 const Tensor& rois_num) {
  RequireDTypeOf(op, "scores", scores, "bboxes", bboxes);
  const auto says = [&](const char* form) {
    FailArgument(op, ": ", form, "; they are ", Describe(bboxes), " and ",
                 Describe(scores));
  };
  if (!rois_num.defined()) {
    if (scores.rank() != 3 ||
        !HasShape(bboxes, {scores.size(0), scores.size(2), 4})) {
      says(
          "bboxes must be [images, boxes, 4] and scores "
          "[images, classes, boxes]");
    }
    return scores.size(0);
  }
  RequireInt(op, "rois_num", rois_num);
  PROA_REQUIRE(rois_num.rank() == 1, op, ": rois_num must be [images]; it is ",
               Describe(rois_num));
  if (scores.rank() != 2 ||
      !HasShape(bboxes, {scores.size(0), scores.size(1), 4})) {
    says(
        "bboxes must be [boxes, classes, 4] and scores [boxes, classes], "
        "with rois_num");
  }
  return rois_num.size(0);
}

}  // namespace

Shape picked_rows(const char* op, const Tensor& bboxes, const Tensor& scores,
                  const Tensor& rois_num, bool mark_none) {
  ImagesOf(op, bboxes, scores, rois_num);
  return {kUnknownDim, mark_none ? kUnknownDim : 6};
}

Shape picked_places(const char* op, const Tensor& bboxes, const Tensor& scores,
                    const Tensor& rois_num) {
  ImagesOf(op, bboxes, scores, rois_num);
  return {kUnknownDim, 1};
}

Shape picked_counts(const char* op, const Tensor& bboxes, const Tensor& scores,
                    const Tensor& rois_num, bool mark_none) {
  const int64_t images = ImagesOf(op, bboxes, scores, rois_num);
  return {mark_none ? kUnknownDim : images};
}

namespace {

int64_t MergedImages(const char* op, const Tensor& bboxes,
                     const Tensor& scores) {
  RequireDTypeOf(op, "scores", scores, "bboxes", bboxes);
  const int64_t size = bboxes.rank() == 3 ? bboxes.size(2) : 0;
  const bool known = size == 4 || size == 8 || size == 16 || size == 24 ||
                     size == 32 || IsUnknown(size);
  if (!known || scores.rank() != 3 ||
      !HasShape(bboxes, {scores.size(0), scores.size(2), size})) {
    FailArgument(op,
                 ": bboxes must be [images, boxes, size], of 4, 8, 16, 24 or "
                 "32 numbers, and scores [images, classes, boxes]; they are ",
                 Describe(bboxes), " and ", Describe(scores));
  }
  return scores.size(0);
}

}  // namespace

Shape merged_rows(const char* op, const Tensor& bboxes, const Tensor& scores) {
  MergedImages(op, bboxes, scores);
  const int64_t size = bboxes.size(2);
  return {kUnknownDim, IsUnknown(size) ? kUnknownDim : 2 + size};
}

Shape merged_counts(const char* op, const Tensor& bboxes,
                    const Tensor& scores) {
  return {MergedImages(op, bboxes, scores)};
}

}  // namespace proa::inline v0::ops::infer
