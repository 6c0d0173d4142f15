#include "ops/vision/vision_checks.h"
#include "ops/vision/vision_infer.h"

namespace proa::inline v0::ops::infer {

Shape proposals(const char* op, const Tensor& scores, const Tensor& bbox_deltas,
                const Tensor& img_size, const Tensor& anchors,
                const Tensor& variances, const Tensor& img_scale,
                int64_t columns) {
  PROA_REQUIRE(scores.rank() == 4, op, ": scores must be [N, A, H, W]; it is ",
               Describe(scores));
  const int64_t n = scores.size(0), a = scores.size(1), h = scores.size(2),
                w = scores.size(3);
  const auto each = [&](const char* name, const Tensor& t,
                        std::initializer_list<int64_t> wanted) {
    RequireDTypeOf(op, name, t, "scores", scores);
    PROA_REQUIRE(HasShape(t, wanted), op, ": ", name, " must be ",
                 ToString(Shape(wanted)), " by scores; it is ", Describe(t));
  };
  each("bbox_deltas", bbox_deltas, {n, Product({a, 4}), h, w});
  each("img_size", img_size, {n, 2});
  if (img_scale.defined()) each("img_scale", img_scale, {n});
  const auto boxes = [&](const char* name, const Tensor& t) {
    RequireDTypeOf(op, name, t, "scores", scores);
    PROA_REQUIRE(
        HasShape(t, {h, w, a, 4}) || HasShape(t, {Product({h, w, a}), 4}), op,
        ": ", name, " must be ", ToString(Shape{h, w, a, 4}),
        " by scores, or these in a list; it is ", Describe(t));
  };
  boxes("anchors", anchors);
  boxes("variances", variances);
  return {kUnknownDim, columns};
}

Shape one_per_image(const char*, const Tensor& scores) {
  return {scores.rank() > 0 ? scores.size(0) : kUnknownDim};
}

namespace {

void RequireLevels(const char* op, const Tensor& fpn_rois,
                   const Tensor& rois_num, int64_t min_level, int64_t max_level,
                   int64_t refer_scale) {
  PROA_REQUIRE(fpn_rois.rank() == 2 && Fit(fpn_rois.size(1), 4), op,
               ": fpn_rois must be [R, 4]; it is ", Describe(fpn_rois));
  if (rois_num.defined()) {
    RequireInt(op, "rois_num", rois_num);
    PROA_REQUIRE(rois_num.rank() == 1, op,
                 ": rois_num must be [images]; it is ", Describe(rois_num));
  }
  PROA_REQUIRE(min_level >= 0 && min_level <= max_level && max_level < 64, op,
               ": levels must go from min_level to max_level, 64 at most; they "
               "are ",
               min_level, " and ", max_level);
  PROA_REQUIRE(refer_scale > 0, op, ": refer_scale must be positive; it is ",
               refer_scale);
}

}  // namespace

std::vector<Shape> rois_of_levels(const char* op, const Tensor& fpn_rois,
                                  const Tensor& rois_num, int64_t min_level,
                                  int64_t max_level, int64_t refer_scale) {
  RequireLevels(op, fpn_rois, rois_num, min_level, max_level, refer_scale);
  return std::vector<Shape>(max_level - min_level + 1, Shape{kUnknownDim, 4});
}

Shape restored(const char* op, const Tensor& fpn_rois, const Tensor& rois_num,
               int64_t min_level, int64_t max_level, int64_t refer_scale) {
  RequireLevels(op, fpn_rois, rois_num, min_level, max_level, refer_scale);
  return {fpn_rois.size(0), 1};
}

Shape level_counts(const char* op, const Tensor& fpn_rois,
                   const Tensor& rois_num, int64_t min_level, int64_t max_level,
                   int64_t refer_scale) {
  RequireLevels(op, fpn_rois, rois_num, min_level, max_level, refer_scale);
  return {max_level - min_level + 1,
          rois_num.defined() ? rois_num.size(0) : int64_t{1}};
}

Shape matches(const char* op, const Tensor& x, std::string_view match_type) {
  PROA_REQUIRE(x.rank() == 2 || x.rank() == 3, op,
               ": x must be [rows, columns] or [N, rows, columns]; it is ",
               Describe(x));
  PROA_REQUIRE(match_type == "bipartite" || match_type == "per_prediction", op,
               ": match_type must be bipartite or per_prediction, not ",
               match_type);
  return {x.rank() == 3 ? x.size(0) : int64_t{1}, x.size(x.rank() - 1)};
}

}  // namespace proa::inline v0::ops::infer
