// What prior boxes of a cell there are: the shape rule counts them, the kernel
// places them.
#ifndef PROA_OPS_VISION_ANCHORS_H_
#define PROA_OPS_VISION_ANCHORS_H_

#include <span>
#include <vector>

namespace proa::inline v0::ops {

struct HalfSides {
  double width, height;
};

// By cell, in the order of the op. Without max_sizes there are no squares
// between.
std::vector<HalfSides> PriorBoxesOfCell(std::span<const double> min_sizes,
                                        std::span<const double> max_sizes,
                                        std::span<const double> aspect_ratios,
                                        bool flip, bool squares_first);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_VISION_ANCHORS_H_
