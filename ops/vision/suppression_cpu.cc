// Kernels that choose boxes, compiled once per instruction set. The classes of
// all images are worked on side by side; what is chosen does not depend on it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/vision/image_counts.h"
#include "ops/vision/overlaps.h"
#include "ops/vision/suppression_kernels.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

template <typename F>
void VisitReal(DType dtype, F f) {
  if (dtype == DType::kFloat64) {
    f(double{});
  } else {
    f(float{});
  }
}

// Numbers in order of falling values, of equal ones the first first, NaN before
// all.
template <typename Value>
void SortByFalling(std::vector<int64_t>& numbers, Value value) {
  std::stable_sort(numbers.begin(), numbers.end(), [&](int64_t a, int64_t b) {
    const auto x = value(a), y = value(b);
    return x > y || (x != x && y == y);
  });
}

std::vector<int64_t> Counted(int64_t n) {
  std::vector<int64_t> out(n);
  std::iota(out.begin(), out.end(), int64_t{0});
  return out;
}

int64_t Limit(int64_t count) { return count < 0 ? Greedy().limit : count; }

// One class of one image: its boxes and scores, however they lie.
template <typename T>
struct Class {
  int64_t image, label, size;
  const T* boxes;
  const T* scores;
  int64_t box_step, score_step;     // from one box to the next
  int64_t first_place, place_step;  // numbers of the boxes among all

  const T* Box(int64_t i) const { return boxes + i * box_step; }
  T Score(int64_t i) const { return scores[i * score_step]; }
  int64_t Place(int64_t i) const { return first_place + i * place_step; }

  // The best boxes above a threshold.
  std::vector<int64_t> Best(double threshold, int64_t count) const {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < size; ++i) {
      if (Score(i) > static_cast<T>(threshold)) out.push_back(i);
    }
    SortByFalling(out, [&](int64_t i) { return Score(i); });
    if (static_cast<int64_t>(out.size()) > Limit(count)) out.resize(count);
    return out;
  }

  Overlaps<T> Compared(const std::vector<int64_t>& chosen,
                       bool normalized) const {
    return Overlaps<T>(static_cast<int64_t>(chosen.size()),
                       normalized ? T(0) : T(1),
                       [&](int64_t i) { return Box(chosen[i]); });
  }
};

// The classes of images, by image, without that of the background.
template <typename T>
std::vector<Class<T>> ClassesOf(const char* op, const Tensor& bboxes,
                                const Tensor& scores, const Tensor& rois_num,
                                int64_t background) {
  std::vector<Class<T>> out;
  const T* boxes = bboxes.data<T>();
  const T* values = scores.data<T>();
  const auto add = [&](int64_t image, int64_t classes, auto make) {
    for (int64_t c = 0; c < classes; ++c) {
      if (c != background) out.push_back(make(image, c));
    }
  };
  if (!rois_num.defined()) {
    const int64_t images = scores.size(0), classes = scores.size(1),
                  size = scores.size(2);
    for (int64_t n = 0; n < images; ++n) {
      add(n, classes, [&](int64_t image, int64_t c) {
        return Class<T>{image,
                        c,
                        size,
                        boxes + image * size * 4,
                        values + (image * classes + c) * size,
                        4,
                        1,
                        image * size,
                        1};
      });
    }
    return out;
  }
  const std::vector<int64_t> counts =
      ImageCounts(op, "rois_num", rois_num, scores.size(0));
  const int64_t classes = scores.size(1);
  int64_t start = 0;
  for (size_t n = 0; n < counts.size(); ++n) {
    add(static_cast<int64_t>(n), classes, [&](int64_t image, int64_t c) {
      const int64_t place = start * classes + c;
      return Class<T>{image,          c,           counts[n], boxes + place * 4,
                      values + place, classes * 4, classes,   place,
                      classes};
    });
    start += counts[n];
  }
  return out;
}

// A box that stays: which of which class, with its score.
template <typename T>
struct Found {
  const Class<T>* of;
  int64_t number;
  T score;
};

// What `find` gives for each class, side by side.
template <typename T, typename Find>
std::vector<std::vector<Found<T>>> FindAll(const std::vector<Class<T>>& classes,
                                           Find find) {
  std::vector<std::vector<Found<T>>> out(classes.size());
  parallel_for(0, static_cast<int64_t>(classes.size()), 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   out[i] = find(classes[i]);
                 }
               });
  return out;
}

// What stays of each image: the best `count`, in order of score, or else as
// found.
template <typename T>
std::vector<std::vector<Found<T>>> ByImage(
    const std::vector<Class<T>>& classes,
    const std::vector<std::vector<Found<T>>>& found, int64_t images,
    int64_t count, bool in_order) {
  std::vector<std::vector<Found<T>>> out(images);
  for (size_t i = 0; i < classes.size(); ++i) {
    auto& of = out[classes[i].image];
    of.insert(of.end(), found[i].begin(), found[i].end());
  }
  for (auto& of : out) {
    std::vector<int64_t> best = Counted(static_cast<int64_t>(of.size()));
    SortByFalling(best, [&](int64_t i) { return of[i].score; });
    if (static_cast<int64_t>(best.size()) > Limit(count)) best.resize(count);
    if (!in_order) std::sort(best.begin(), best.end());
    std::vector<Found<T>> chosen;
    for (const int64_t i : best) chosen.push_back(of[i]);
    of = std::move(chosen);
  }
  return out;
}

template <typename T>
void Write(const std::vector<std::vector<Found<T>>>& images, const Tensor& like,
           Tensor* out, Tensor* index, Tensor* counts) {
  int64_t size = 0;
  for (const auto& of : images) size += static_cast<int64_t>(of.size());
  *out = Tensor::Empty({size, 6}, like.dtype(), like.place());
  *index = Tensor::Empty({size, 1}, DType::kInt32, like.place());
  *counts = Tensor::Empty({static_cast<int64_t>(images.size())}, DType::kInt32,
                          like.place());
  T* row = out->data<T>();
  int32_t* place = index->data<int32_t>();
  for (size_t n = 0; n < images.size(); ++n) {
    counts->data<int32_t>()[n] = static_cast<int32_t>(images[n].size());
    for (const Found<T>& f : images[n]) {
      row[0] = static_cast<T>(f.of->label);
      row[1] = f.score;
      std::copy_n(f.of->Box(f.number), 4, row + 2);
      row += 6;
      *place++ = static_cast<int32_t>(f.of->Place(f.number));
    }
  }
}

// What becomes of the scores of boxes, best first.
template <typename T>
void Lower(const Overlaps<T>& boxes, bool gaussian, T sigma,
           std::vector<T>& scores) {
  const int64_t n = boxes.size();
  std::vector<T> most(n, T(0)), row(n);
  for (int64_t i = 1; i < n; ++i) {
    boxes.Row(i, 0, i, row.data());
    T least = 1;
    for (int64_t j = 0; j < i; ++j) {
      most[i] = row[j] > most[i] ? row[j] : most[i];
      const T factor =
          gaussian ? std::exp((most[j] * most[j] - row[j] * row[j]) * sigma)
                   : (1 - row[j]) / (1 - most[j]);
      least = factor < least ? factor : least;
    }
    scores[i] *= least;
  }
}

}  // namespace

void Nms(const KernelContext&, const Tensor& boxes, const Tensor& scores,
         const Tensor& category_idxs, double iou_threshold,
         std::span<const int64_t> categories, std::optional<int64_t> top_k,
         Tensor* out) {
  const int64_t n = boxes.size(0);
  std::vector<int64_t> order = Counted(n);
  if (scores.defined()) {
    VisitDType(scores.dtype(), [&]<typename S>(TypeTag<S>) {
      if constexpr (std::is_arithmetic_v<S>) {
        const S* p = scores.data<S>();
        SortByFalling(order, [&](int64_t i) { return p[i]; });
      }
    });
  }
  // The ranks of the boxes of each category.
  std::map<int64_t, std::vector<int64_t>> kinds;
  if (category_idxs.defined()) {
    const std::vector<int64_t> kind = Integers(category_idxs);
    for (const int64_t c : categories) kinds[c];
    for (int64_t rank = 0; rank < n; ++rank) {
      const auto found = kinds.find(kind[order[rank]]);
      if (found != kinds.end()) found->second.push_back(rank);
    }
  } else {
    kinds[0] = Counted(n);
  }
  Greedy by{.threshold = iou_threshold};
  if (top_k.has_value()) by.limit = *top_k;
  std::vector<int64_t> kept;
  VisitReal(boxes.dtype(), [&]<typename T>(T) {
    const T* p = boxes.data<T>();
    for (const auto& [kind, ranks] : kinds) {
      Overlaps<T> compared(static_cast<int64_t>(ranks.size()), T(0),
                           [&](int64_t i) { return p + 4 * order[ranks[i]]; });
      for (const int64_t i : Suppress(std::move(compared), by)) {
        kept.push_back(ranks[i]);
      }
    }
  });
  std::sort(kept.begin(), kept.end());
  if (static_cast<int64_t>(kept.size()) > by.limit) kept.resize(by.limit);
  *out = Tensor::Empty({static_cast<int64_t>(kept.size())}, DType::kInt64,
                       boxes.place());
  for (size_t i = 0; i < kept.size(); ++i) {
    out->data<int64_t>()[i] = order[kept[i]];
  }
}

void MulticlassNms(const KernelContext&, const Tensor& bboxes,
                   const Tensor& scores, const Tensor& rois_num,
                   double score_threshold, int64_t nms_top_k,
                   int64_t keep_top_k, double nms_threshold, bool normalized,
                   double nms_eta, int64_t background_label, bool mark_none,
                   Tensor* out, Tensor* index, Tensor* nms_rois_num) {
  VisitReal(bboxes.dtype(), [&]<typename T>(T) {
    const auto classes = ClassesOf<T>("multiclass_nms", bboxes, scores,
                                      rois_num, background_label);
    const Greedy by{.threshold = nms_threshold, .eta = nms_eta};
    const auto found = FindAll(classes, [&](const Class<T>& of) {
      const auto best = of.Best(score_threshold, nms_top_k);
      std::vector<Found<T>> stay;
      std::vector<int64_t> kept;
      for (const int64_t i : Suppress(of.Compared(best, normalized), by)) {
        kept.push_back(best[i]);
      }
      // The order of the reference: by score, or as they lie in the list.
      if (rois_num.defined()) std::sort(kept.begin(), kept.end());
      for (const int64_t i : kept) stay.push_back({&of, i, of.Score(i)});
      return stay;
    });
    const int64_t images =
        rois_num.defined() ? rois_num.numel() : scores.size(0);
    Write(ByImage(classes, found, images, keep_top_k, false), bboxes, out,
          index, nms_rois_num);
    if (mark_none && out->size(0) == 0) {
      *out = Tensor::Empty({1, 1}, bboxes.dtype(), bboxes.place());
      out->data<T>()[0] = -1;
      *nms_rois_num = Tensor::Empty({1}, DType::kInt32, bboxes.place());
      nms_rois_num->data<int32_t>()[0] = 1;
    }
  });
}

void MatrixNms(const KernelContext&, const Tensor& bboxes, const Tensor& scores,
               double score_threshold, double post_threshold, int64_t nms_top_k,
               int64_t keep_top_k, bool use_gaussian, double gaussian_sigma,
               int64_t background_label, bool normalized, Tensor* out,
               Tensor* index, Tensor* rois_num) {
  VisitReal(bboxes.dtype(), [&]<typename T>(T) {
    const auto classes =
        ClassesOf<T>("matrix_nms", bboxes, scores, Tensor(), background_label);
    const auto found = FindAll(classes, [&](const Class<T>& of) {
      const auto best = of.Best(score_threshold, nms_top_k);
      std::vector<T> lowered;
      for (const int64_t i : best) lowered.push_back(of.Score(i));
      Lower(of.Compared(best, normalized), use_gaussian,
            static_cast<T>(gaussian_sigma), lowered);
      std::vector<Found<T>> stay;
      for (size_t i = 0; i < best.size(); ++i) {
        if (lowered[i] > static_cast<T>(post_threshold)) {
          stay.push_back({&of, best[i], lowered[i]});
        }
      }
      return stay;
    });
    Write(ByImage(classes, found, scores.size(0), keep_top_k, true), bboxes,
          out, index, rois_num);
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
