#include "ops/vision/vision_checks.h"
#include "ops/vision/vision_infer.h"

namespace proa::inline v0::ops::infer {

Shape polygon_masks(const char* op, const Tensor& boxes, const Tensor& points,
                    const Tensor& points_num, const Tensor& polygons_num,
                    const Tensor& which, int64_t resolution) {
  PROA_REQUIRE(HasShape(boxes, {kUnknownDim, 4}), op,
               ": boxes must be [K, 4]; it is ", Describe(boxes));
  PROA_REQUIRE(HasShape(points, {kUnknownDim, 2}), op,
               ": points must be [P, 2]; it is ", Describe(points));
  RequireDTypeOf(op, "points", points, "boxes", boxes);
  RequireInt(op, "points_num", points_num);
  RequireInt(op, "polygons_num", polygons_num);
  RequireInt(op, "which", which);
  PROA_REQUIRE(points_num.rank() == 1, op,
               ": points_num must be [polygons]; it is ", Describe(points_num));
  PROA_REQUIRE(polygons_num.rank() == 1, op,
               ": polygons_num must be [objects]; it is ",
               Describe(polygons_num));
  PROA_REQUIRE(HasShape(which, {boxes.size(0)}), op, ": which must be ",
               ToString(Shape{boxes.size(0)}), " by boxes; it is ",
               Describe(which));
  PROA_REQUIRE(resolution > 0, op, ": resolution must be positive; it is ",
               resolution);
  Product({boxes.size(0), resolution, resolution});
  return {boxes.size(0), resolution, resolution};
}

}  // namespace proa::inline v0::ops::infer
