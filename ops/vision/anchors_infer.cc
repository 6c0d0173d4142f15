#include "ops/vision/anchors.h"
#include "ops/vision/vision_checks.h"
#include "ops/vision/vision_infer.h"

namespace proa::inline v0::ops::infer {

Shape prior_boxes(const char* op, const Tensor& input, const Tensor& image,
                  std::span<const double> min_sizes,
                  std::span<const double> max_sizes,
                  std::span<const double> aspect_ratios,
                  std::span<const double> variance, bool flip) {
  PROA_REQUIRE(input.rank() == 4 && image.rank() == 4, op,
               ": input and image must be [N, C, H, W]; they are ",
               Describe(input), " and ", Describe(image));
  PROA_REQUIRE(!min_sizes.empty(), op,
               ": min_sizes must be positive; there are none");
  RequirePositive(op, "min_sizes", min_sizes);
  RequirePositive(op, "aspect_ratios", aspect_ratios);
  PROA_REQUIRE(max_sizes.empty() || max_sizes.size() == min_sizes.size(), op,
               ": max_sizes must be as many as min_sizes; they are ",
               max_sizes.size(), " and ", min_sizes.size());
  for (size_t i = 0; i < max_sizes.size(); ++i) {
    PROA_REQUIRE(max_sizes[i] > min_sizes[i], op,
                 ": each of max_sizes must be larger than its one of "
                 "min_sizes; they are ",
                 max_sizes[i], " and ", min_sizes[i]);
  }
  PROA_REQUIRE(variance.size() == 4, op, ": variance must be 4 numbers, not ",
               variance.size());
  const auto boxes =
      PriorBoxesOfCell(min_sizes, max_sizes, aspect_ratios, flip, false);
  return {input.size(2), input.size(3), static_cast<int64_t>(boxes.size()), 4};
}

Shape anchors(const char* op, const Tensor& input,
              std::span<const double> anchor_sizes,
              std::span<const double> aspect_ratios,
              std::span<const double> stride,
              std::span<const double> variances) {
  PROA_REQUIRE(input.rank() == 4, op, ": input must be [N, C, H, W]; it is ",
               Describe(input));
  RequirePositive(op, "anchor_sizes", anchor_sizes);
  RequirePositive(op, "aspect_ratios", aspect_ratios);
  PROA_REQUIRE(stride.size() == 2 && stride[0] > 0 && stride[1] > 0, op,
               ": stride must be 2 positive numbers");
  PROA_REQUIRE(variances.size() == 4, op, ": variances must be 4 numbers, not ",
               variances.size());
  return {input.size(2), input.size(3),
          static_cast<int64_t>(anchor_sizes.size() * aspect_ratios.size()), 4};
}

Shape box_codes(const char* op, const Tensor& prior_box,
                const Tensor& prior_box_var, const Tensor& target_box,
                std::string_view code_type, int64_t axis,
                std::span<const double> variance) {
  const bool encodes = code_type == "encode_center_size";
  PROA_REQUIRE(encodes || code_type == "decode_center_size", op,
               ": code_type must be encode_center_size or decode_center_size, "
               "not ",
               code_type);
  PROA_REQUIRE(axis == 0 || axis == 1, op, ": axis must be 0 or 1, not ", axis);
  PROA_REQUIRE(prior_box.rank() == 2 && Fit(prior_box.size(1), 4), op,
               ": prior_box must be [M, 4]; it is ", Describe(prior_box));
  RequireDTypeOf(op, "prior_box", prior_box, "target_box", target_box);
  if (prior_box_var.defined()) {
    RequireDTypeOf(op, "prior_box_var", prior_box_var, "target_box",
                   target_box);
    PROA_REQUIRE(HasShape(prior_box_var, {prior_box.size(0), 4}), op,
                 ": prior_box_var must be ", ToString(prior_box.shape()),
                 ", as prior_box is; it is ", Describe(prior_box_var));
  }
  PROA_REQUIRE(variance.empty() || variance.size() == 4, op,
               ": variance must be 4 numbers, not ", variance.size());
  const int rank = encodes ? 2 : 3;
  PROA_REQUIRE(target_box.rank() == rank && Fit(target_box.size(rank - 1), 4),
               op, ": target_box must be ", encodes ? "[N, 4]" : "[N, M, 4]",
               "; it is ", Describe(target_box));
  if (encodes) return {target_box.size(0), prior_box.size(0), 4};
  PROA_REQUIRE(Fit(target_box.size(1 - axis), prior_box.size(0)), op, ": dim ",
               1 - axis,
               " of target_box must be the number of prior boxes; they are ",
               Describe(target_box), " and ", Describe(prior_box));
  return {target_box.size(0), target_box.size(1), 4};
}

}  // namespace proa::inline v0::ops::infer
