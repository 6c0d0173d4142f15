// Rules of regions of images and of boxes (see ops/infer.h for what a rule may
// do).
#ifndef PROA_OPS_VISION_VISION_INFER_H_
#define PROA_OPS_VISION_VISION_INFER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/int_array.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// [regions, C, height, width].
Shape regions(const char* op, const Tensor& x, const Tensor& boxes,
              const Tensor& boxes_num, int64_t height, int64_t width,
              int64_t sampling_ratio);
// The given shape of images, of which dy has the regions.
Shape regions_grad(const char* op, const Tensor& dy, const Tensor& boxes,
                   const Tensor& boxes_num, const IntArray& shape,
                   int64_t sampling_ratio);
// [regions, channels, height, width] of channels * height * width channels.
Shape part_regions(const char* op, const Tensor& x, const Tensor& boxes,
                   const Tensor& boxes_num, int64_t height, int64_t width,
                   int64_t channels);
Shape part_regions_grad(const char* op, const Tensor& dy, const Tensor& boxes,
                        const Tensor& boxes_num, const IntArray& shape);
// The shape of argmax, places in the planes of x; and back.
Shape chosen(const char* op, const Tensor& x, const Tensor& argmax,
             const Tensor& boxes_num);
Shape chosen_grad(const char* op, const Tensor& dy, const Tensor& argmax,
                  const Tensor& boxes_num, const IntArray& shape);

// Boxes that stay: as many as there turn out to be.
Shape nms(const char* op, const Tensor& boxes, const Tensor& scores,
          const Tensor& category_idxs, std::span<const int64_t> categories,
          std::optional<int64_t> top_k);
// [picked, 6]; any matrix with mark_none.
Shape picked_rows(const char* op, const Tensor& bboxes, const Tensor& scores,
                  const Tensor& rois_num = Tensor(), bool mark_none = false);
Shape picked_places(const char* op, const Tensor& bboxes, const Tensor& scores,
                    const Tensor& rois_num = Tensor());
// How many of each image.
Shape picked_counts(const char* op, const Tensor& bboxes, const Tensor& scores,
                    const Tensor& rois_num = Tensor(), bool mark_none = false);
// [kept, 2 + size], and how many of each image.
Shape merged_rows(const char* op, const Tensor& bboxes, const Tensor& scores);
Shape merged_counts(const char* op, const Tensor& bboxes, const Tensor& scores);

// [boxes, resolution, resolution].
Shape polygon_masks(const char* op, const Tensor& boxes, const Tensor& points,
                    const Tensor& points_num, const Tensor& polygons_num,
                    const Tensor& which, int64_t resolution);

// [proposals, columns].
Shape proposals(const char* op, const Tensor& scores, const Tensor& bbox_deltas,
                const Tensor& img_size, const Tensor& anchors,
                const Tensor& variances, const Tensor& img_scale,
                int64_t columns);
Shape one_per_image(const char* op, const Tensor& scores);
// [boxes of the level, 4] for each level.
std::vector<Shape> rois_of_levels(const char* op, const Tensor& fpn_rois,
                                  const Tensor& rois_num, int64_t min_level,
                                  int64_t max_level, int64_t refer_scale);
Shape restored(const char* op, const Tensor& fpn_rois, const Tensor& rois_num,
               int64_t min_level, int64_t max_level, int64_t refer_scale);
Shape level_counts(const char* op, const Tensor& fpn_rois,
                   const Tensor& rois_num, int64_t min_level, int64_t max_level,
                   int64_t refer_scale);
// [N, columns].
Shape matches(const char* op, const Tensor& x, std::string_view match_type);

// [H, W, boxes of a cell, 4].
Shape prior_boxes(const char* op, const Tensor& input, const Tensor& image,
                  std::span<const double> min_sizes,
                  std::span<const double> max_sizes,
                  std::span<const double> aspect_ratios,
                  std::span<const double> variance, bool flip);
Shape anchors(const char* op, const Tensor& input,
              std::span<const double> anchor_sizes,
              std::span<const double> aspect_ratios,
              std::span<const double> stride,
              std::span<const double> variances);
// [N, M, 4].
Shape box_codes(const char* op, const Tensor& prior_box,
                const Tensor& prior_box_var, const Tensor& target_box,
                std::string_view code_type, int64_t axis,
                std::span<const double> variance);

// [N, boxes of all anchors and cells, columns].
Shape yolo_boxes(const char* op, const Tensor& x, const Tensor& img_size,
                 std::span<const int64_t> anchors, int64_t class_num,
                 int64_t downsample_ratio, bool iou_aware, int64_t columns);
Shape yolo_loss(const char* op, const Tensor& x, const Tensor& gt_box,
                const Tensor& gt_label, const Tensor& gt_score,
                std::span<const int64_t> anchors,
                std::span<const int64_t> anchor_mask, int64_t class_num,
                int64_t downsample_ratio);
Shape yolo_loss_grad(const char* op, const Tensor& dy, const Tensor& x,
                     const Tensor& gt_box, const Tensor& gt_label,
                     const Tensor& gt_score, std::span<const int64_t> anchors,
                     std::span<const int64_t> anchor_mask, int64_t class_num,
                     int64_t downsample_ratio);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_VISION_VISION_INFER_H_
