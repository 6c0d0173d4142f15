// Masks of polygons in boxes. A box is drawn on a grid five times as fine as
// the mask; where the outline of a polygon passes the middle of a column of
// pixels, what follows it in the column changes sides.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "ops/vision/image_counts.h"
#include "ops/vision/masks_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kFiner = 5;

struct Corner {
  int64_t x, y;
};

// What is no number is 0; nothing is so far away that differences overflow.
int64_t OnGrid(double v) {
  constexpr double kFar = 1LL << 40;
  const double at = static_cast<double>(kFiner) * v;
  return std::isnan(at) ? 0 : std::llround(std::clamp(at, -kFar, kFar));
}

// The line between two corners, as points of the grid: one for each step along
// the longer of its sides.
class Line {
 public:
  Line(Corner a, Corner b) {
    const int64_t dx = std::abs(a.x - b.x), dy = std::abs(a.y - b.y);
    flat_ = dx >= dy;
    if (flat_ ? a.x > b.x : a.y > b.y) std::swap(a, b);
    from_ = a;
    steps_ = flat_ ? dx : dy;
    const int64_t rise = flat_ ? b.y - a.y : b.x - a.x;
    slope_ = steps_ == 0
                 ? 0
                 : static_cast<double>(rise) / static_cast<double>(steps_);
  }

  // Sets the upper one of the points at columns x and x + 1; false where the
  // line does not go from one to the other.
  bool Passes(int64_t x, int64_t* y) const {
    if (flat_) {
      const int64_t t = x - from_.x;
      if (t < 0 || t >= steps_) return false;
      *y = std::min(Across(from_.y, t), Across(from_.y, t + 1));
      return true;
    }
    const bool falls = slope_ < 0;
    const auto before = [&](int64_t t) {
      return falls ? Across(from_.x, t) > x : Across(from_.x, t) <= x;
    };
    if (!before(0) || before(steps_)) return false;
    int64_t low = 0, high = steps_;  // before(low), not before(high)
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (before(middle) ? low : high) = middle;
    }
    *y = from_.y + low;
    return true;
  }

 private:
  int64_t Across(int64_t start, int64_t t) const {
    return std::llround(static_cast<double>(start) +
                        slope_ * static_cast<double>(t));
  }

  Corner from_;
  int64_t steps_;
  double slope_;
  bool flat_;
};

// Adds what a polygon covers to a mask [size, size].
void Draw(const std::vector<Corner>& polygon, int64_t size, int32_t* mask) {
  std::vector<uint8_t> changes(size * size + 1, 0);  // column by column
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Line line(polygon[i], polygon[(i + 1) % polygon.size()]);
    for (int64_t x = 0; x < size; ++x) {
      int64_t y;
      if (!line.Passes(x * kFiner + kFiner / 2, &y)) continue;
      const double at = (static_cast<double>(y) + 0.5) / kFiner - 0.5;
      const auto row = static_cast<int64_t>(
          std::ceil(std::clamp(at, 0.0, static_cast<double>(size))));
      changes[x * size + row] ^= 1;
    }
  }
  uint8_t within = 0;
  for (int64_t x = 0; x < size; ++x) {
    for (int64_t y = 0; y < size; ++y) {
      within ^= changes[x * size + y];
      mask[y * size + x] |= within;
    }
  }
}

// Where each part begins, and the end of all; `counts` are those of a list.
std::vector<int64_t> Begins(const char* name, const Tensor& counts,
                            const char* of, int64_t size) {
  std::vector<int64_t> out = {0};
  for (const int64_t n : Integers(counts)) {
    PROA_REQUIRE(n >= 0, "polygon_masks: ", name, " holds ", n,
                 ", which is negative");
    PROA_REQUIRE(n <= INT64_MAX - out.back(), "polygon_masks: ", name,
                 " holds ", n, ", which is too many");
    out.push_back(out.back() + n);
  }
  PROA_REQUIRE(out.back() == size, "polygon_masks: ", name, " sums to ",
               out.back(), "; there are ", size, " ", of, "; it is ",
               Describe(counts));
  return out;
}

template <typename T>
std::vector<Corner> Seen(const T* points, int64_t begin, int64_t end,
                         const T* box, int64_t size) {
  const T w = std::max(box[2] - box[0], T(1)),
          h = std::max(box[3] - box[1], T(1));
  const T parts = static_cast<T>(size);
  std::vector<Corner> out;
  for (int64_t i = begin; i < end; ++i) {
    out.push_back({OnGrid((points[2 * i] - box[0]) * parts / w),
                   OnGrid((points[2 * i + 1] - box[1]) * parts / h)});
  }
  return out;
}

template <typename T>
void DrawAll(const Tensor& boxes, const Tensor& points,
             const std::vector<int64_t>& points_at,
             const std::vector<int64_t>& polygons_at,
             const std::vector<int64_t>& which, int64_t size, Tensor* out) {
  auto* masks = out->data<int32_t>();
  std::fill_n(masks, out->numel(), 0);
  parallel_for(0, boxes.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t object = which[k];
      for (int64_t p = polygons_at[object]; p < polygons_at[object + 1]; ++p) {
        Draw(Seen(points.data<T>(), points_at[p], points_at[p + 1],
                  boxes.data<T>() + 4 * k, size),
             size, masks + k * size * size);
      }
    }
  });
}

}  // namespace

void PolygonMasks(const KernelContext&, const Tensor& boxes,
                  const Tensor& points, const Tensor& points_num,
                  const Tensor& polygons_num, const Tensor& which,
                  int64_t resolution, Tensor* out) {
  const auto points_at =
      Begins("points_num", points_num, "points", points.size(0));
  const auto polygons_at =
      Begins("polygons_num", polygons_num, "polygons", points_num.size(0));
  const std::vector<int64_t> objects = Integers(which);
  for (const int64_t object : objects) {
    PROA_REQUIRE(object >= 0 && object < polygons_num.size(0),
                 "polygon_masks: which holds ", object, "; there are ",
                 polygons_num.size(0), " objects; it is ", Describe(which));
  }
  const auto draw =
      boxes.dtype() == DType::kFloat64 ? &DrawAll<double> : &DrawAll<float>;
  draw(boxes, points, points_at, polygons_at, objects, resolution, out);
}

}  // namespace proa::inline v0::ops::cpu
