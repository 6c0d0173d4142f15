// YoloTruth: what one map of a YOLO network should predict. It knows which true
// box belongs to which cell and anchor, and names the terms of the loss: each
// an entropy or a distance of one element of x, with a weight.
#ifndef PROA_OPS_VISION_YOLO_TRUTH_H_
#define PROA_OPS_VISION_YOLO_TRUTH_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/vision/image_counts.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

struct YoloOptions {
  const char* op;
  std::span<const int64_t> anchors;  // pairs of width and height, in pixels
  std::span<const int64_t> anchor_mask;
  int64_t class_num;
  double ignore_thresh;
  int64_t downsample_ratio;
  double scale_x_y;
  bool use_label_smooth;
};

template <typename T>
class YoloTruth {
 public:
  // Throws IndexError for a class out of range. The arguments must outlive it.
  YoloTruth(const YoloOptions& options, const Tensor& x, const Tensor& gt_box,
            const Tensor& gt_label, const Tensor& gt_score)
      : options_(options),
        anchors_(static_cast<int64_t>(options.anchor_mask.size())),
        height_(x.size(2)),
        width_(x.size(3)),
        size_(x.size(1) * height_ * width_),
        x_(x.data<T>()),
        count_(gt_box.size(1)),
        boxes_(gt_box.data<T>()),
        labels_(Integers(gt_label)),
        scores_(gt_score.defined() ? gt_score.data<T>() : nullptr) {
    matches_.resize(x.size(0) * count_);
    for (int64_t i = 0; i < static_cast<int64_t>(matches_.size()); ++i) {
      matches_[i] = MatchOf(i);
    }
  }

  // Elements of an image.
  int64_t size() const { return size_; }
  const T* Maps(const Tensor& x, int64_t image) const {
    return x.data<T>() + image * size_;
  }

  // Calls entropy(i, label, weight) and distance(i, wanted, weight) for all
  // terms of an image, in a fixed order; i is an element of it.
  template <typename Entropy, typename Distance>
  void Visit(int64_t image, Entropy entropy, Distance distance) const {
    const double small = std::min(1.0 / options_.class_num, 1.0 / 40);
    const T off = options_.use_label_smooth ? static_cast<T>(small) : T(0);
    const int64_t cells = height_ * width_;
    for (int64_t b = image * count_; b < (image + 1) * count_; ++b) {
      const Match& m = matches_[b];
      if (m.place < 0) continue;
      const Box box = BoxOf(b);
      const T score = ScoreOf(b), weight = score * (2 - box.w * box.h);
      entropy(m.at, m.x, weight);
      entropy(m.at + cells, m.y, weight);
      distance(m.at + 2 * cells, m.w, weight);
      distance(m.at + 3 * cells, m.h, weight);
      for (int64_t c = 0; c < options_.class_num; ++c) {
        entropy(m.at + (5 + c) * cells, c == labels_[b] ? 1 - off : off, score);
      }
    }
    const std::vector<T> sure = Confidences(image);
    for (int64_t i = 0; i < anchors_ * cells; ++i) {
      const int64_t at =
          (i / cells * (5 + options_.class_num) + 4) * cells + i % cells;
      if (sure[i] > T(1e-5)) {
        entropy(at, T(1), sure[i]);
      } else if (sure[i] > T(-0.5)) {
        entropy(at, T(0), T(1));
      }
    }
  }

 private:
  struct Box {
    T x, y, w, h;
  };
  // Where a true box belongs, and what should be predicted there.
  struct Match {
    int64_t place = -1;  // (anchor of the map, row, column); -1: none
    int64_t at = 0;      // element of x of its first channel
    T x = 0, y = 0, w = 0, h = 0;
  };

  Box BoxOf(int64_t b) const {
    const T* box = boxes_ + 4 * b;
    return {box[0], box[1], box[2], box[3]};
  }
  bool Valid(const Box& b) const { return b.w > T(1e-6) && b.h > T(1e-6); }
  T ScoreOf(int64_t b) const { return scores_ != nullptr ? scores_[b] : T(1); }
  // Sides of an anchor as parts of the network's input.
  T AnchorSide(int64_t anchor, int which, int64_t cells) const {
    return static_cast<T>(options_.anchors[2 * anchor + which]) /
           (static_cast<T>(options_.downsample_ratio) * static_cast<T>(cells));
  }

  static T Shared(const Box& a, const Box& b) {
    const auto inner = [](T x, T w, T other_x, T other_w) {
      return std::min(x + w / 2, other_x + other_w / 2) -
             std::max(x - w / 2, other_x - other_w / 2);
    };
    const T across = inner(a.x, a.w, b.x, b.w);
    const T down = inner(a.y, a.h, b.y, b.h);
    const T common = across < 0 || down < 0 ? T(0) : across * down;
    return common / (a.w * a.h + b.w * b.h - common);
  }

  static int64_t CellOf(T place, int64_t cells) {
    const T cell = place * static_cast<T>(cells);
    if (!(cell > 0)) return 0;
    return static_cast<int64_t>(std::min(cell, static_cast<T>(cells - 1)));
  }

  Match MatchOf(int64_t b) const {
    const Box box = BoxOf(b);
    if (!Valid(box) || height_ == 0 || width_ == 0) return {};
    int64_t best = 0;
    T most = -1;
    const auto all = static_cast<int64_t>(options_.anchors.size()) / 2;
    for (int64_t a = 0; a < all; ++a) {
      const T shared =
          Shared({0, 0, box.w, box.h},
                 {0, 0, AnchorSide(a, 0, height_), AnchorSide(a, 1, height_)});
      if (shared > most) {
        most = shared;
        best = a;
      }
    }
    const auto& mask = options_.anchor_mask;
    const auto found = std::find(mask.begin(), mask.end(), best);
    if (found == mask.end()) return {};
    if (labels_[b] < 0 || labels_[b] >= options_.class_num) {
      Fail(absl::StatusCode::kOutOfRange, options_.op, ": class ", labels_[b],
           " of box ", b % count_, " of image ", b / count_,
           " is out of range for ", options_.class_num, " classes");
    }
    const int64_t row = CellOf(box.y, height_), column = CellOf(box.x, width_);
    const int64_t cells = height_ * width_, cell = row * width_ + column;
    const int64_t anchor = found - mask.begin();
    Match out;
    out.place = anchor * cells + cell;
    out.at = anchor * (5 + options_.class_num) * cells + cell;
    out.x = box.x * static_cast<T>(height_) - static_cast<T>(column);
    out.y = box.y * static_cast<T>(height_) - static_cast<T>(row);
    out.w = std::log(box.w / AnchorSide(best, 0, height_));
    out.h = std::log(box.h / AnchorSide(best, 1, height_));
    return out;
  }

  // What the confidence of each anchor and cell counts for: the weight of the
  // last true box that belongs there; 0 where there should be none; -1 where a
  // predicted box is so near to a true one that it is left out.
  std::vector<T> Confidences(int64_t image) const {
    const int64_t cells = height_ * width_;
    std::vector<T> out(anchors_ * cells, T(0));
    std::vector<Box> truths;
    for (int64_t b = image * count_; b < (image + 1) * count_; ++b) {
      if (Valid(BoxOf(b))) truths.push_back(BoxOf(b));
    }
    const T limit = static_cast<T>(options_.ignore_thresh);
    for (int64_t i = 0; i < anchors_ * cells && !truths.empty(); ++i) {
      const Box box = Predicted(image, i / cells, i % cells);
      for (const Box& truth : truths) {
        if (Shared(box, truth) > limit) out[i] = -1;
      }
    }
    for (int64_t b = image * count_; b < (image + 1) * count_; ++b) {
      if (matches_[b].place >= 0) out[matches_[b].place] = ScoreOf(b);
    }
    return out;
  }

  Box Predicted(int64_t image, int64_t anchor, int64_t cell) const {
    const int64_t cells = height_ * width_;
    const T* x =
        x_ + image * size_ + anchor * (5 + options_.class_num) * cells + cell;
    const T scale = static_cast<T>(options_.scale_x_y), bias = (1 - scale) / 2;
    const auto middle = [&](T v, int64_t at, int64_t count) {
      return (static_cast<T>(at) + scale / (1 + std::exp(-v)) + bias) /
             static_cast<T>(count);
    };
    const int64_t which = options_.anchor_mask[anchor];
    return {middle(x[0], cell % width_, width_),
            middle(x[cells], cell / width_, height_),
            std::exp(x[2 * cells]) * AnchorSide(which, 0, width_),
            std::exp(x[3 * cells]) * AnchorSide(which, 1, height_)};
  }

  const YoloOptions& options_;
  const int64_t anchors_, height_, width_, size_;
  const T* x_;
  const int64_t count_;
  const T* boxes_;
  const std::vector<int64_t> labels_;
  const T* scores_;
  std::vector<Match> matches_;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_VISION_YOLO_TRUTH_H_
