// Kernels that share boxes out: to the levels of a pyramid, and to one another.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "ops/vision/image_counts.h"
#include "ops/vision/proposals_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {
namespace {

template <typename F>
void VisitReal(DType dtype, F f) {
  if (dtype == DType::kFloat64) {
    f(double{});
  } else {
    f(float{});
  }
}

struct Pyramid {
  int64_t min_level, max_level, refer_level, refer_scale;
  bool pixel_offset;

  int64_t size() const { return max_level - min_level + 1; }

  // From 0. A box that is no number is on the lowest level.
  template <typename T>
  int64_t LevelOf(const T* box) const {
    const T more = pixel_offset ? T(1) : T(0);
    const T w = box[2] - box[0], h = box[3] - box[1];
    const T area = w < 0 || h < 0 ? T(0) : (w + more) * (h + more);
    const T level =
        std::floor(std::log2(std::sqrt(area) / static_cast<T>(refer_scale) +
                             static_cast<T>(1e-6)) +
                   static_cast<T>(refer_level));
    if (!(level > static_cast<T>(min_level))) return 0;
    return static_cast<int64_t>(std::min(level, static_cast<T>(max_level))) -
           min_level;
  }

  // The numbers of the boxes of each level.
  std::vector<std::vector<int64_t>> Share(const Tensor& rois) const {
    std::vector<std::vector<int64_t>> out(size());
    VisitReal(rois.dtype(), [&]<typename T>(T) {
      const T* box = rois.data<T>();
      for (int64_t i = 0; i < rois.size(0); ++i, box += 4) {
        out[LevelOf(box)].push_back(i);
      }
    });
    return out;
  }
};

// Pairs of one matrix.
template <typename T>
void Match(const T* x, int64_t rows, int64_t columns, bool per_prediction,
           T threshold, int32_t* match, T* distance) {
  constexpr T kLeast = static_cast<T>(1e-6);
  std::fill_n(match, columns, -1);
  std::fill_n(distance, columns, T(0));
  // By column, and then stably by size: of equal ones that of the first column.
  std::vector<int64_t> pairs;
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      if (x[r * columns + c] >= kLeast) pairs.push_back(r * columns + c);
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](int64_t a, int64_t b) { return x[a] > x[b]; });
  std::vector<bool> taken(rows);
  for (const int64_t p : pairs) {
    const int64_t r = p / columns, c = p % columns;
    if (taken[r] || match[c] >= 0) continue;
    taken[r] = true;
    match[c] = static_cast<int32_t>(r);
    distance[c] = x[p];
  }
  if (!per_prediction) return;
  for (int64_t c = 0; c < columns; ++c) {
    if (match[c] >= 0) continue;
    T most = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const T v = x[r * columns + c];
      if (v < kLeast || !(v >= threshold) || !(v > most)) continue;
      most = distance[c] = v;
      match[c] = static_cast<int32_t>(r);
    }
  }
}

}  // namespace

void DistributeFpnProposals(const KernelContext&, const Tensor& fpn_rois,
                            const Tensor&, int64_t min_level, int64_t max_level,
                            int64_t refer_level, int64_t refer_scale,
                            bool pixel_offset, std::vector<Tensor>* out) {
  const Pyramid pyramid{min_level, max_level, refer_level, refer_scale,
                        pixel_offset};
  const auto levels = pyramid.Share(fpn_rois);
  out->resize(levels.size());
  VisitReal(fpn_rois.dtype(), [&]<typename T>(T) {
    const T* boxes = fpn_rois.data<T>();
    for (size_t k = 0; k < levels.size(); ++k) {
      (*out)[k] = Tensor::Empty({static_cast<int64_t>(levels[k].size()), 4},
                                fpn_rois.dtype(), fpn_rois.place());
      T* to = (*out)[k].template data<T>();
      for (const int64_t i : levels[k]) to = std::copy_n(boxes + 4 * i, 4, to);
    }
  });
}

void FpnLevels(const KernelContext&, const Tensor& fpn_rois,
               const Tensor& rois_num, int64_t min_level, int64_t max_level,
               int64_t refer_level, int64_t refer_scale, bool pixel_offset,
               Tensor* restore_index, Tensor* rois_num_per_level) {
  const int64_t size = fpn_rois.size(0);
  std::vector<int64_t> counts{size};
  if (rois_num.defined()) {
    counts = ImageCounts("fpn_levels", "rois_num", rois_num, size);
  }
  std::vector<int64_t> image;
  for (size_t n = 0; n < counts.size(); ++n) {
    image.insert(image.end(), counts[n], static_cast<int64_t>(n));
  }
  const Pyramid pyramid{min_level, max_level, refer_level, refer_scale,
                        pixel_offset};
  int32_t* restore = restore_index->data<int32_t>();
  int32_t* of_level = rois_num_per_level->data<int32_t>();
  std::fill_n(of_level, rois_num_per_level->numel(), 0);
  int32_t place = 0;
  for (const auto& level : pyramid.Share(fpn_rois)) {
    for (const int64_t i : level) {
      restore[i] = place++;
      ++of_level[image[i]];
    }
    of_level += counts.size();
  }
}

void BipartiteMatch(const KernelContext&, const Tensor& x,
                    std::string_view match_type, double dist_threshold,
                    Tensor* indices, Tensor* distances) {
  const int64_t rows = x.size(x.rank() - 2), columns = x.size(x.rank() - 1);
  VisitReal(x.dtype(), [&]<typename T>(T) {
    parallel_for(0, indices->size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        Match(x.data<T>() + n * rows * columns, rows, columns,
              match_type == "per_prediction", static_cast<T>(dist_threshold),
              indices->data<int32_t>() + n * columns,
              distances->data<T>() + n * columns);
      }
    });
  });
}

}  // namespace proa::inline v0::ops::cpu
