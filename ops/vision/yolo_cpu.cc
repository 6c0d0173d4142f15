// Kernels of YOLO's boxes and loss. The loss is a sum over elements of x, of
// entropies and of distances, which yolo_truth.h tells of; its derivatives are
// those of the terms.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ops/vision/yolo_kernels.h"
#include "ops/vision/yolo_truth.h"
#include "tensor/dtype.h"
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

template <typename T>
T Sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

std::vector<double> Numbers(const Tensor& t) {
  std::vector<double> out(t.numel());
  VisitDType(t.dtype(), [&]<typename S>(TypeTag<S>) {
    if constexpr (std::is_arithmetic_v<S>) {
      const S* p = t.data<S>();
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<double>(p[i]);
    }
  });
  return out;
}

// One map of predictions of one image: `channels` for each anchor.
template <typename T>
struct Boxes {
  const T* x;
  const T* overlaps;  // of an anchor's cells, or null
  int64_t height, width, classes;
  double conf_thresh, factor, downsample, scale, image_height, image_width;
  bool clips;

  T Confidence(int64_t cell) const {
    const T sure = Sigmoid(x[4 * height * width + cell]);
    if (overlaps == nullptr) return sure;
    return std::pow(sure, static_cast<T>(1 - factor)) *
           std::pow(Sigmoid(overlaps[cell]), static_cast<T>(factor));
  }

  void Decode(double anchor_width, double anchor_height, int64_t cell, T* box,
              T* scores) const {
    const int64_t cells = height * width;
    const T confidence = Confidence(cell);
    if (confidence < static_cast<T>(conf_thresh)) {
      std::fill_n(box, 4, T(0));
      std::fill_n(scores, classes, T(0));
      return;
    }
    const struct {
      int64_t at, count;
      double anchor, side;
    } axes[] = {{cell % width, width, anchor_width, image_width},
                {cell / width, height, anchor_height, image_height}};
    for (int k = 0; k < 2; ++k) {
      const auto& axis = axes[k];
      const T count = static_cast<T>(axis.count),
              side = static_cast<T>(axis.side);
      const T middle = (static_cast<T>(axis.at) +
                        Sigmoid(x[k * cells + cell]) * static_cast<T>(scale) -
                        static_cast<T>(0.5 * (scale - 1))) *
                       side / count;
      const T half = std::exp(x[(k + 2) * cells + cell]) *
                     static_cast<T>(axis.anchor) * side /
                     (count * static_cast<T>(downsample)) / 2;
      box[k] = middle - half;
      box[k + 2] = middle + half;
      if (clips) {
        box[k] = box[k] < 0 ? T(0) : box[k];
        box[k + 2] = box[k + 2] > side - 1 ? side - 1 : box[k + 2];
      }
    }
    for (int64_t c = 0; c < classes; ++c) {
      scores[c] = confidence * Sigmoid(x[(5 + c) * cells + cell]);
    }
  }
};

// max(x, 0) - x label + log(1 + e^-|x|): the entropy of sigmoid(x).
template <typename T>
T Entropy(T x, T label) {
  return std::max(x, T(0)) - x * label + std::log1p(std::exp(-std::fabs(x)));
}

// Calls visit(image, truth of it), side by side.
template <typename T, typename Visit>
void ForEachImage(const YoloOptions& options, const Tensor& x,
                  const Tensor& gt_box, const Tensor& gt_label,
                  const Tensor& gt_score, Visit visit) {
  const int64_t images = x.size(0);
  const YoloTruth<T> truth(options, x, gt_box, gt_label, gt_score);
  parallel_for(0, images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) visit(n, truth);
  });
}

}  // namespace

void YoloBox(const KernelContext&, const Tensor& x, const Tensor& img_size,
             std::span<const int64_t> anchors, int64_t class_num,
             double conf_thresh, int64_t downsample_ratio, bool clip_bbox,
             double scale_x_y, bool iou_aware, double iou_aware_factor,
             Tensor* boxes, Tensor* scores) {
  const int64_t count = static_cast<int64_t>(anchors.size()) / 2,
                height = x.size(2), width = x.size(3), cells = height * width;
  const std::vector<double> sizes = Numbers(img_size);
  VisitReal(x.dtype(), [&]<typename T>(T) {
    const auto one = [&](int64_t image, int64_t anchor) {
      const T* maps = x.data<T>() + image * x.size(1) * cells;
      const int64_t before = iou_aware ? count : 0;
      const Boxes<T> of{maps + (before + anchor * (5 + class_num)) * cells,
                        iou_aware ? maps + anchor * cells : nullptr,
                        height,
                        width,
                        class_num,
                        conf_thresh,
                        iou_aware_factor,
                        static_cast<double>(downsample_ratio),
                        scale_x_y,
                        sizes[2 * image],
                        sizes[2 * image + 1],
                        clip_bbox};
      const int64_t first = (image * count + anchor) * cells;
      for (int64_t cell = 0; cell < cells; ++cell) {
        of.Decode(static_cast<double>(anchors[2 * anchor]),
                  static_cast<double>(anchors[2 * anchor + 1]), cell,
                  boxes->data<T>() + (first + cell) * 4,
                  scores->data<T>() + (first + cell) * class_num);
      }
    };
    const int64_t grain = std::max<int64_t>(
        1, 2048 / std::max<int64_t>(1, cells * (5 + class_num)));
    parallel_for(0, x.size(0) * count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) one(i / count, i % count);
    });
  });
}

void YoloLoss(const KernelContext&, const Tensor& x, const Tensor& gt_box,
              const Tensor& gt_label, const Tensor& gt_score,
              std::span<const int64_t> anchors,
              std::span<const int64_t> anchor_mask, int64_t class_num,
              double ignore_thresh, int64_t downsample_ratio,
              bool use_label_smooth, double scale_x_y, Tensor* loss) {
  const YoloOptions options{"yolo_loss", anchors,         anchor_mask,
                            class_num,   ignore_thresh,   downsample_ratio,
                            scale_x_y,   use_label_smooth};
  VisitReal(x.dtype(), [&]<typename T>(T) {
    ForEachImage<T>(options, x, gt_box, gt_label, gt_score,
                    [&](int64_t n, const YoloTruth<T>& truth) {
                      const T* of = truth.Maps(x, n);
                      double sum = 0;
                      truth.Visit(
                          n,
                          [&](int64_t i, T label, T weight) {
                            sum += weight * Entropy(of[i], label);
                          },
                          [&](int64_t i, T wanted, T weight) {
                            sum += weight * std::fabs(of[i] - wanted);
                          });
                      loss->data<T>()[n] = static_cast<T>(sum);
                    });
  });
}

void YoloLossGrad(const KernelContext&, const Tensor& dy, const Tensor& x,
                  const Tensor& gt_box, const Tensor& gt_label,
                  const Tensor& gt_score, std::span<const int64_t> anchors,
                  std::span<const int64_t> anchor_mask, int64_t class_num,
                  double ignore_thresh, int64_t downsample_ratio,
                  bool use_label_smooth, double scale_x_y, Tensor* out) {
  const YoloOptions options{"yolo_loss_grad", anchors,         anchor_mask,
                            class_num,        ignore_thresh,   downsample_ratio,
                            scale_x_y,        use_label_smooth};
  VisitReal(x.dtype(), [&]<typename T>(T) {
    ForEachImage<T>(options, x, gt_box, gt_label, gt_score,
                    [&](int64_t n, const YoloTruth<T>& truth) {
                      const T* of = truth.Maps(x, n);
                      const T g = dy.data<T>()[n];
                      T* to = out->data<T>() + (of - x.data<T>());
                      std::fill_n(to, truth.size(), T(0));
                      truth.Visit(
                          n,
                          [&](int64_t i, T label, T weight) {
                            to[i] += g * weight * (Sigmoid(of[i]) - label);
                          },
                          [&](int64_t i, T wanted, T weight) {
                            const T away = of[i] - wanted;
                            to[i] += g * weight * (T(away > 0) - T(away < 0));
                          });
                    });
  });
}

void YoloLossCurvature(const KernelContext&, const Tensor& dy, const Tensor& x,
                       const Tensor& gt_box, const Tensor& gt_label,
                       const Tensor& gt_score, std::span<const int64_t> anchors,
                       std::span<const int64_t> anchor_mask, int64_t class_num,
                       double ignore_thresh, int64_t downsample_ratio,
                       bool use_label_smooth, double scale_x_y, Tensor* out) {
  const YoloOptions options{
      "yolo_loss_curvature", anchors,          anchor_mask, class_num,
      ignore_thresh,         downsample_ratio, scale_x_y,   use_label_smooth};
  VisitReal(x.dtype(), [&]<typename T>(T) {
    ForEachImage<T>(options, x, gt_box, gt_label, gt_score,
                    [&](int64_t n, const YoloTruth<T>& truth) {
                      const T* of = truth.Maps(x, n);
                      const T g = dy.data<T>()[n];
                      T* to = out->data<T>() + (of - x.data<T>());
                      std::fill_n(to, truth.size(), T(0));
                      truth.Visit(
                          n,
                          [&](int64_t i, T, T weight) {
                            const T s = Sigmoid(of[i]);
                            to[i] += g * weight * s * (1 - s);
                          },
                          [](int64_t, T, T) {});
                    });
  });
}

}  // namespace proa::inline v0::ops::cpu
