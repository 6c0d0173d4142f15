// Kernels of boxes of a grid.
#include "ops/vision/anchors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ops/vision/anchors_kernels.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

struct Grid {
  double first, step;  // middle of the first cell, and from one to the next

  double At(int64_t i) const { return first + static_cast<double>(i) * step; }
};

template <typename T>
T Rounded(double v) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(v);
  } else {
    return static_cast<T>(static_cast<float>(v));
  }
}

// `boxes` is [H, W, boxes of a cell, 4]: box k of a cell around the cell's
// middle, in units of width and height; `limit` cuts it to 0..1.
void Place(const Grid& columns, const Grid& rows,
           const std::vector<HalfSides>& halves, double width, double height,
           bool limit, std::span<const double> variance, Tensor* boxes,
           Tensor* variances) {
  VisitDType(boxes->dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_constructible_v<T, float>) {
      T* to = boxes->data<T>();
      T* spread = variances->data<T>();
      for (int64_t i = 0; i < boxes->size(0); ++i) {
        for (int64_t j = 0; j < boxes->size(1); ++j) {
          const double x = columns.At(j), y = rows.At(i);
          for (const HalfSides& half : halves) {
            const double sides[] = {
                (x - half.width) / width, (y - half.height) / height,
                (x + half.width) / width, (y + half.height) / height};
            for (int k = 0; k < 4; ++k) {
              *to++ =
                  Rounded<T>(limit ? std::clamp(sides[k], 0.0, 1.0) : sides[k]);
              *spread++ = Rounded<T>(variance[k]);
            }
          }
        }
      }
    }
  });
}

}  // namespace

void PriorBox(const KernelContext&, const Tensor& input, const Tensor& image,
              std::span<const double> min_sizes,
              std::span<const double> max_sizes,
              std::span<const double> aspect_ratios,
              std::span<const double> variance, bool flip, bool clip,
              double step_w, double step_h, double offset,
              bool min_max_aspect_ratios_order, Tensor* boxes,
              Tensor* variances) {
  const auto width = static_cast<double>(image.size(3)),
             height = static_cast<double>(image.size(2));
  if (!(step_w != 0)) step_w = width / static_cast<double>(input.size(3));
  if (!(step_h != 0)) step_h = height / static_cast<double>(input.size(2));
  Place({offset * step_w, step_w}, {offset * step_h, step_h},
        PriorBoxesOfCell(min_sizes, max_sizes, aspect_ratios, flip,
                         min_max_aspect_ratios_order),
        width, height, clip, variance, boxes, variances);
}

void AnchorGenerator(const KernelContext&, const Tensor&,
                     std::span<const double> anchor_sizes,
                     std::span<const double> aspect_ratios,
                     std::span<const double> stride,
                     std::span<const double> variances, double offset,
                     Tensor* anchors, Tensor* anchor_variances) {
  std::vector<HalfSides> halves;
  for (const double ratio : aspect_ratios) {
    const double width = std::round(std::sqrt(stride[0] * stride[1] / ratio));
    const double height = std::round(width * ratio);
    for (const double size : anchor_sizes) {
      halves.push_back({0.5 * (size / stride[0] * width - 1),
                        0.5 * (size / stride[1] * height - 1)});
    }
  }
  Place({offset * (stride[0] - 1), stride[0]},
        {offset * (stride[1] - 1), stride[1]}, halves, 1, 1, false, variances,
        anchors, anchor_variances);
}

}  // namespace proa::inline v0::ops::cpu
