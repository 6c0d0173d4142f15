#include "ops/vision/anchors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace proa::inline v0::ops {

std::vector<HalfSides> PriorBoxesOfCell(std::span<const double> min_sizes,
                                        std::span<const double> max_sizes,
                                        std::span<const double> aspect_ratios,
                                        bool flip, bool squares_first) {
  std::vector<double> ratios{1.0};
  for (const double ratio : aspect_ratios) {
    const bool known = std::any_of(ratios.begin(), ratios.end(), [&](double r) {
      return std::fabs(r - ratio) < 1e-6;
    });
    if (known) continue;
    ratios.push_back(ratio);
    if (flip) ratios.push_back(1.0 / ratio);
  }
  std::vector<HalfSides> out;
  for (size_t i = 0; i < min_sizes.size(); ++i) {
    const double low = min_sizes[i];
    const auto between = [&] {
      if (max_sizes.empty()) return;
      const double side = std::sqrt(low * max_sizes[i]);
      out.push_back({side / 2, side / 2});
    };
    for (size_t k = 0; k < ratios.size(); ++k) {
      const double root = std::sqrt(ratios[k]);
      out.push_back({low * root / 2, low / root / 2});
      if (k == 0 && squares_first) between();
    }
    if (!squares_first) between();
  }
  return out;
}

}  // namespace proa::inline v0::ops
