// Kernels that merge boxes and polygons which lie on one another. The classes
// of all images are worked on side by side.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ops/vision/locality_kernels.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

struct Point {
  double x, y;
};
using Triangle = std::array<Point, 3>;

// Twice the area on the left of the line from a to b, up to c.
double Side(Point a, Point b, Point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

double Area(std::span<const Point> corners) {
  double twice = 0;
  for (size_t i = 2; i < corners.size(); ++i) {
    twice += Side(corners[0], corners[i - 1], corners[i]);
  }
  return twice / 2;
}

// What two triangles share, whose corners go round to the left: the first one,
// cut by the sides of the second.
double SharedArea(const Triangle& a, const Triangle& b) {
  constexpr size_t kMost = 3 << 3;  // each side at most doubles the corners
  std::array<Point, kMost> corners, next;
  std::copy(a.begin(), a.end(), corners.begin());
  size_t n = 3;
  for (size_t e = 0; e < 3; ++e) {
    const Point p = b[e], q = b[(e + 1) % 3];
    size_t m = 0;
    for (size_t i = 0; i < n; ++i) {
      const Point from = corners[(i + n - 1) % n], to = corners[i];
      const double side = Side(p, q, to), before = Side(p, q, from);
      if ((side >= 0 && before < 0) || (side < 0 && before >= 0)) {
        const double part = before / (before - side);
        next[m++] = {from.x + part * (to.x - from.x),
                     from.y + part * (to.y - from.y)};
      }
      if (side >= 0) next[m++] = to;
    }
    if (m < 3) return 0;
    n = m;
    corners = next;
  }
  return std::abs(Area({corners.data(), n}));
}

// A polygon as triangles from its first corner, of which those that go round to
// the right count as less than nothing.
struct Fan {
  std::vector<Triangle> triangles;  // to the left
  std::vector<double> sign;
  double area = 0;

  explicit Fan(const std::vector<Point>& corners)
      : area(std::abs(Area(corners))) {
    for (size_t i = 2; i < corners.size(); ++i) {
      Triangle t = {corners[0], corners[i - 1], corners[i]};
      const bool left = Side(t[0], t[1], t[2]) >= 0;
      if (!left) std::swap(t[1], t[2]);
      triangles.push_back(t);
      sign.push_back(left ? 1 : -1);
    }
  }
};

double SharedArea(const Fan& a, const Fan& b) {
  double sum = 0;
  for (size_t i = 0; i < a.triangles.size(); ++i) {
    for (size_t j = 0; j < b.triangles.size(); ++j) {
      sum += a.sign[i] * b.sign[j] * SharedArea(a.triangles[i], b.triangles[j]);
    }
  }
  return std::abs(sum);
}

template <typename T>
Fan FanOf(const T* corners, int64_t size) {
  std::vector<Point> points;
  for (int64_t i = 0; i < size; i += 2) {
    points.push_back(
        {static_cast<double>(corners[i]), static_cast<double>(corners[i + 1])});
  }
  return Fan(points);
}

// What two share, as a part of what both cover.
template <typename T>
double Overlap(const T* a, const T* b, int64_t size, T more) {
  if (size > 4) {
    const Fan of_a = FanOf(a, size), of_b = FanOf(b, size);
    const double common = SharedArea(of_a, of_b);
    const double both = of_a.area + of_b.area - common;
    return both > 0 ? common / both : 0;
  }
  const auto area = [&](const T* v) {
    const T w = v[2] - v[0], h = v[3] - v[1];
    return w < 0 || h < 0 ? T(0) : (w + more) * (h + more);
  };
  const T w = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const T h = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const T common = w < 0 || h < 0 ? T(0) : (w + more) * (h + more);
  const T both = area(a) + area(b) - common;
  return both > 0 ? static_cast<double>(common / both) : 0;
}

struct Limits {
  double score, overlap, eta;
  int64_t best;  // how many are looked at; negative: all
  bool normalized;
};

template <typename T>
struct Found {
  T label, score;
  std::vector<T> corners;
};

// Numbers in order of falling values, of equal ones the first first, NaN before
// all.
template <typename Value>
void SortByFalling(std::vector<int64_t>& numbers, Value value) {
  std::stable_sort(numbers.begin(), numbers.end(), [&](int64_t a, int64_t b) {
    const auto x = value(a), y = value(b);
    return x > y || (x != x && y == y);
  });
}

// One class of one image; `corners` and `scores` become those of what is
// merged.
template <typename T>
class Class {
 public:
  Class(std::vector<T> corners, std::vector<T> scores, int64_t size,
        const Limits& limits)
      : corners_(std::move(corners)),
        scores_(std::move(scores)),
        size_(size),
        limits_(limits) {}

  // What stays, by score.
  std::vector<Found<T>> Find(T label) {
    std::vector<int64_t> left = Merge();
    std::erase_if(left, [&](int64_t i) {
      return !(scores_[i] > static_cast<T>(limits_.score));
    });
    SortByFalling(left, [&](int64_t i) { return scores_[i]; });
    if (limits_.best >= 0 && static_cast<int64_t>(left.size()) > limits_.best) {
      left.resize(limits_.best);
    }
    double threshold = limits_.overlap;
    std::vector<int64_t> kept;
    for (const int64_t i : left) {
      const bool stays = std::none_of(kept.begin(), kept.end(), [&](int64_t k) {
        return Shared(i, k) > threshold;
      });
      if (!stays) continue;
      kept.push_back(i);
      if (limits_.eta < 1 && threshold > 0.5) threshold *= limits_.eta;
    }
    std::vector<Found<T>> out;
    for (const int64_t i : kept) {
      out.push_back(
          {label,
           scores_[i],
           {corners_.begin() + i * size_, corners_.begin() + (i + 1) * size_}});
    }
    return out;
  }

 private:
  double Shared(int64_t i, int64_t k) const {
    return Overlap(corners_.data() + i * size_, corners_.data() + k * size_,
                   size_, limits_.normalized ? T(0) : T(1));
  }

  // The numbers of those that others were merged into, or nothing.
  std::vector<int64_t> Merge() {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < static_cast<int64_t>(scores_.size()); ++i) {
      if (out.empty() || !(Shared(i, out.back()) > limits_.overlap)) {
        out.push_back(i);
        continue;
      }
      const int64_t k = out.back();
      T* into = corners_.data() + k * size_;
      const T* from = corners_.data() + i * size_;
      const T mine = scores_[i], sum = mine + scores_[k];
      for (int64_t j = 0; j < size_; ++j) {
        into[j] = (from[j] * mine + into[j] * scores_[k]) / sum;
      }
      scores_[k] = sum;
    }
    return out;
  }

  std::vector<T> corners_, scores_;
  const int64_t size_;
  const Limits& limits_;
};

// The best `count` of an image; by class, and of a class by score.
template <typename T>
std::vector<Found<T>> Best(std::vector<Found<T>> found, int64_t count) {
  if (count < 0 || static_cast<int64_t>(found.size()) <= count) return found;
  std::vector<int64_t> order(found.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  SortByFalling(order, [&](int64_t i) { return found[i].score; });
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<Found<T>> out;
  for (const int64_t i : order) out.push_back(std::move(found[i]));
  return out;
}

template <typename T>
void Run(const Tensor& bboxes, const Tensor& scores, const Limits& limits,
         int64_t keep_top_k, int64_t background, Tensor* out,
         Tensor* rois_num) {
  const int64_t images = scores.size(0), classes = scores.size(1),
                boxes = scores.size(2), size = bboxes.size(2);
  std::vector<std::vector<Found<T>>> of_class(images * classes);
  parallel_for(0, images * classes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i % classes == background) continue;
      const T* corners = bboxes.data<T>() + i / classes * boxes * size;
      const T* of = scores.data<T>() + i * boxes;
      of_class[i] = Class<T>({corners, corners + boxes * size},
                             {of, of + boxes}, size, limits)
                        .Find(static_cast<T>(i % classes));
    }
  });
  *rois_num = Tensor::Empty({images}, DType::kInt32, bboxes.place());
  std::vector<Found<T>> all;
  for (int64_t n = 0; n < images; ++n) {
    std::vector<Found<T>> mine;
    for (int64_t c = 0; c < classes; ++c) {
      for (Found<T>& f : of_class[n * classes + c]) {
        mine.push_back(std::move(f));
      }
    }
    mine = Best(std::move(mine), keep_top_k);
    rois_num->data<int32_t>()[n] = static_cast<int32_t>(mine.size());
    for (Found<T>& f : mine) all.push_back(std::move(f));
  }
  *out = Tensor::Empty({static_cast<int64_t>(all.size()), 2 + size},
                       bboxes.dtype(), bboxes.place());
  T* row = out->data<T>();
  for (const Found<T>& f : all) {
    *row++ = f.label;
    *row++ = f.score;
    row = std::copy(f.corners.begin(), f.corners.end(), row);
  }
}

}  // namespace

void LocalityAwareNms(const KernelContext&, const Tensor& bboxes,
                      const Tensor& scores, double score_threshold,
                      int64_t nms_top_k, int64_t keep_top_k,
                      double nms_threshold, bool normalized, double nms_eta,
                      int64_t background_label, Tensor* out, Tensor* rois_num) {
  const Limits limits = {.score = score_threshold,
                         .overlap = nms_threshold,
                         .eta = nms_eta,
                         .best = nms_top_k,
                         .normalized = normalized};
  if (bboxes.dtype() == DType::kFloat64) {
    Run<double>(bboxes, scores, limits, keep_top_k, background_label, out,
                rois_num);
  } else {
    Run<float>(bboxes, scores, limits, keep_top_k, background_label, out,
               rois_num);
  }
}

}  // namespace proa::inline v0::ops::cpu
