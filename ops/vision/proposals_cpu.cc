// Kernels of proposals, compiled once per instruction set: the best anchors of
// an image, decoded, cut to it, and suppressed. Images are worked on side by
// side.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/vision/overlaps.h"
#include "ops/vision/proposals_kernels.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

template <typename T>
struct Proposal {
  T box[4];
  T score;
};

template <typename T>
struct Options {
  int64_t pre_nms_top_n, post_nms_top_n;
  double nms_thresh, min_size, eta;
  T more;  // 1 where corners are pixels
};

// The first stage's output for one image. Anchor (row, column, a) has number
// (row * W + column) * A + a; scores lie as [A, H, W], codes as [4 A, H, W].
template <typename T>
struct Image {
  int64_t anchors_of_cell, cells;
  const T *scores, *codes, *anchors, *variances;
  T height, width;
  T scale;  // 0: none

  T Score(int64_t i) const {
    return scores[i % anchors_of_cell * cells + i / anchors_of_cell];
  }

  Proposal<T> Decoded(int64_t i, T more) const {
    const T* code =
        codes + i % anchors_of_cell * 4 * cells + i / anchors_of_cell;
    const T* anchor = anchors + 4 * i;
    const T* by = variances + 4 * i;
    const T most = std::log(static_cast<T>(1000.0 / 16.0));
    Proposal<T> out;
    for (int k = 0; k < 2; ++k) {
      const T size = anchor[k + 2] - anchor[k] + more;
      const T middle = by[k] * code[k * cells] * size + anchor[k] + size / 2;
      const T length =
          std::exp(std::min(by[k + 2] * code[(k + 2) * cells], most)) * size;
      const T edge = (k == 0 ? width : height) - more;
      const auto cut = [&](T v) { return std::max(std::min(v, edge), T(0)); };
      out.box[k] = cut(middle - length / 2);
      out.box[k + 2] = cut(middle + length / 2 - more);
    }
    out.score = Score(i);
    return out;
  }

  bool LargeEnough(const Proposal<T>& p, T least, T more) const {
    for (int k = 0; k < 2; ++k) {
      const T side = p.box[k + 2] - p.box[k];
      const T size = scale > 0 ? side / scale + 1 : side + more;
      if (!(size >= least)) return false;
      const T middle = p.box[k] + (side + more) / 2;
      if (more > 0 && !(middle <= (k == 0 ? width : height))) return false;
    }
    return true;
  }

  std::vector<Proposal<T>> Find(const Options<T>& by) const {
    std::vector<int64_t> order(anchors_of_cell * cells);
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto better = [&](int64_t a, int64_t b) {
      const T x = Score(a), y = Score(b);
      if (x > y || (x != x && y == y)) return true;
      if (y > x || (y != y && x == x)) return false;
      return a < b;
    };
    const auto size = static_cast<int64_t>(order.size());
    const int64_t count =
        by.pre_nms_top_n > 0 ? std::min(by.pre_nms_top_n, size) : size;
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      better);
    const T least = std::max(static_cast<T>(by.min_size), T(1));
    std::vector<Proposal<T>> found;
    for (int64_t i = 0; i < count; ++i) {
      const Proposal<T> p = Decoded(order[i], by.more);
      if (LargeEnough(p, least, by.more)) found.push_back(p);
    }
    if (found.empty()) return {Proposal<T>{}};
    if (by.nms_thresh <= 0) return found;
    Greedy greedy{.threshold = by.nms_thresh, .eta = by.eta};
    if (by.post_nms_top_n > 0) greedy.limit = by.post_nms_top_n;
    Overlaps<T> compared(static_cast<int64_t>(found.size()), by.more,
                         [&](int64_t i) { return found[i].box; });
    std::vector<Proposal<T>> kept;
    for (const int64_t i : Suppress(std::move(compared), greedy)) {
      kept.push_back(found[i]);
    }
    return kept;
  }
};

template <typename T>
void Generate(const Tensor& scores, const Tensor& bbox_deltas,
              const Tensor& img_size, const Tensor& anchors,
              const Tensor& variances, const Tensor& img_scale,
              const Options<T>& by, Tensor* rois, Tensor* probs,
              Tensor* rois_num) {
  const int64_t images = scores.size(0), of_cell = scores.size(1),
                cells = scores.size(2) * scores.size(3);
  const T* size = img_size.data<T>();
  std::vector<std::vector<Proposal<T>>> found(images);
  parallel_for(0, images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const T scale = img_scale.defined() ? img_scale.data<T>()[n] : T(0);
      found[n] = Image<T>{of_cell,
                          cells,
                          scores.data<T>() + n * of_cell * cells,
                          bbox_deltas.data<T>() + n * of_cell * 4 * cells,
                          anchors.data<T>(),
                          variances.data<T>(),
                          size[2 * n],
                          size[2 * n + 1],
                          scale}
                     .Find(by);
    }
  });
  int64_t count = 0;
  for (const auto& of : found) count += static_cast<int64_t>(of.size());
  *rois = Tensor::Empty({count, 4}, scores.dtype(), scores.place());
  *probs = Tensor::Empty({count, 1}, scores.dtype(), scores.place());
  *rois_num = Tensor::Empty({images}, DType::kInt32, scores.place());
  T* box = rois->data<T>();
  T* prob = probs->data<T>();
  for (int64_t n = 0; n < images; ++n) {
    rois_num->data<int32_t>()[n] = static_cast<int32_t>(found[n].size());
    for (const Proposal<T>& p : found[n]) {
      box = std::copy_n(p.box, 4, box);
      *prob++ = p.score;
    }
  }
}

}  // namespace

void GenerateProposals(const KernelContext&, const Tensor& scores,
                       const Tensor& bbox_deltas, const Tensor& img_size,
                       const Tensor& anchors, const Tensor& variances,
                       const Tensor& img_scale, int64_t pre_nms_top_n,
                       int64_t post_nms_top_n, double nms_thresh,
                       double min_size, double eta, bool pixel_offset,
                       Tensor* rois, Tensor* probs, Tensor* rois_num) {
  const auto run = [&]<typename T>(T) {
    Generate<T>(scores, bbox_deltas, img_size, anchors, variances, img_scale,
                {pre_nms_top_n, post_nms_top_n, nms_thresh, min_size, eta,
                 pixel_offset ? T(1) : T(0)},
                rois, probs, rois_num);
  };
  if (scores.dtype() == DType::kFloat64) {
    run(double{});
  } else {
    run(float{});
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
