// Kernels of regions of images. Forward work is cut by region and channel, that
// of gradients by image and channel, so that each element is made by one thread
// in one order.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ops/vision/roi_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // pixels read

template <typename F>
void VisitReal(DType dtype, F f) {
  if (dtype == DType::kFloat64) {
    f(double{});
  } else {
    f(float{});
  }
}

// The image of each region.
std::vector<int64_t> ImagesOf(const char* op, const Tensor& boxes_num,
                              int64_t regions) {
  std::vector<int64_t> images;
  int64_t sum = 0;
  const auto read = [&]<typename T>(const T* counts) {
    for (int64_t n = 0; n < boxes_num.numel(); ++n) {
      const int64_t count = counts[n];
      PROA_REQUIRE(count >= 0, op, ": boxes_num ", count, " at [", n,
                   "] is negative");
      PROA_REQUIRE(count <= regions - sum, op, ": boxes_num sums to more than ",
                   "the ", regions, " boxes there are, [", regions,
                   ", 4]; boxes_num is ", Describe(boxes_num));
      sum += count;
      images.insert(images.end(), count, n);
    }
  };
  if (boxes_num.dtype() == DType::kInt32) {
    read(boxes_num.data<int32_t>());
  } else {
    read(boxes_num.data<int64_t>());
  }
  PROA_REQUIRE(sum == regions, op, ": boxes_num sums to ", sum, "; there are ",
               regions, " boxes, [", regions, ", 4]; boxes_num is ",
               Describe(boxes_num));
  return images;
}

// Corners of box k, which must be numbers that arithmetic can be done with, as
// they are and scaled.
struct Box {
  double x1, y1, x2, y2;
};

template <typename T>
std::vector<Box> BoxesOf(const char* op, const Tensor& boxes, double scale) {
  constexpr double kMost = 1e12;
  PROA_REQUIRE(std::fabs(scale) < kMost, op, ": spatial_scale is ", scale,
               "; it must be finite, and less than 1e12");
  std::vector<Box> out;
  const T* p = boxes.data<T>();
  for (int64_t k = 0; k < boxes.size(0); ++k, p += 4) {
    for (int i = 0; i < 4; ++i) {
      const auto corner = static_cast<double>(p[i]);
      PROA_REQUIRE(
          std::fabs(corner) < kMost && std::fabs(corner * scale) < kMost, op,
          ": box ", k, " is not finite, or beyond 1e12: ", p[i], " at [", k,
          ", ", i, "], spatial_scale is ", scale, "; boxes is ",
          Describe(boxes));
    }
    out.push_back({p[0], p[1], p[2], p[3]});
  }
  return out;
}

// roi_align: points lie on a grid, and so the weight of a pixel is a product of
// one of its row and one of its column; these are the weights of one part.
struct Weights {
  int64_t first = 0;
  std::vector<double> values;
};

// The parts of one axis: `parts` of a region that begins at `start`, with
// points on `size` pixels.
std::vector<Weights> AxisWeights(double start, double length, int64_t parts,
                                 int64_t sampling_ratio, int64_t size) {
  std::vector<Weights> out(parts);
  const double part = length / static_cast<double>(parts);
  const double points = sampling_ratio > 0 ? static_cast<double>(sampling_ratio)
                                           : std::ceil(part);
  if (!(points > 0) || size == 0) return out;
  const double step = part / points;
  for (int64_t p = 0; p < parts; ++p) {
    const double begin = start + static_cast<double>(p) * part;
    // Only points in [-1, size] count; others need not be looked at.
    double low = 0, high = points - 1;
    if (step > 0) {
      low = std::max(low, std::floor((-1 - begin) / step - 0.5));
      high = std::min(
          high, std::ceil((static_cast<double>(size) - begin) / step - 0.5));
    }
    std::vector<std::pair<int64_t, double>> terms;
    for (double i = low; i <= high; i += 1) {
      double at = begin + (i + 0.5) * step;
      if (at < -1 || at > static_cast<double>(size)) continue;
      at = std::max(at, 0.0);
      const int64_t under = std::min(static_cast<int64_t>(at), size - 1);
      const double rest =
          under + 1 < size ? at - static_cast<double>(under) : 0.0;
      terms.emplace_back(under, (1 - rest) / points);
      if (rest > 0) terms.emplace_back(under + 1, rest / points);
    }
    if (terms.empty()) continue;
    const auto [least, most] =
        std::minmax_element(terms.begin(), terms.end(),
                            [](auto& a, auto& b) { return a.first < b.first; });
    out[p].first = least->first;
    out[p].values.assign(most->first - least->first + 1, 0.0);
    for (const auto& [i, w] : terms) out[p].values[i - out[p].first] += w;
  }
  return out;
}

struct AlignedRegion {
  std::vector<Weights> rows, columns;
};

template <typename T>
std::vector<AlignedRegion> AlignRegions(const char* op, const Tensor& boxes,
                                        double scale, int64_t sampling_ratio,
                                        bool aligned, int64_t parts_h,
                                        int64_t parts_w, int64_t height,
                                        int64_t width) {
  std::vector<AlignedRegion> out;
  const double offset = aligned ? 0.5 : 0.0;
  for (const Box& b : BoxesOf<T>(op, boxes, scale)) {
    const double x = b.x1 * scale - offset, y = b.y1 * scale - offset;
    double w = b.x2 * scale - offset - x, h = b.y2 * scale - offset - y;
    if (!aligned) {
      w = std::max(w, 1.0);
      h = std::max(h, 1.0);
    }
    out.push_back({AxisWeights(y, h, parts_h, sampling_ratio, height),
                   AxisWeights(x, w, parts_w, sampling_ratio, width)});
  }
  return out;
}

// Pixels [begin, end) of an axis that a part covers.
struct Span {
  int64_t begin = 0, end = 0;
};

Span ClampedSpan(double begin, double end, int64_t size) {
  const double most = static_cast<double>(size);
  return {static_cast<int64_t>(std::clamp(std::floor(begin), 0.0, most)),
          static_cast<int64_t>(std::clamp(std::ceil(end), 0.0, most))};
}

struct Region {
  std::vector<Span> rows, columns;
};

// roi_pool: whole pixels, the last one included.
template <typename T>
std::vector<Region> WholeRegions(const char* op, const Tensor& boxes,
                                 double scale, int64_t parts_h, int64_t parts_w,
                                 int64_t height, int64_t width) {
  const auto axis = [&](double low, double high, int64_t parts, int64_t size) {
    std::vector<Span> spans;
    const double start = std::round(low * scale);
    const double length = std::max(std::round(high * scale) - start + 1, 1.0);
    const double part = length / static_cast<double>(parts);
    for (int64_t p = 0; p < parts; ++p) {
      spans.push_back(ClampedSpan(
          std::floor(static_cast<double>(p) * part) + start,
          std::ceil(static_cast<double>(p + 1) * part) + start, size));
    }
    return spans;
  };
  std::vector<Region> out;
  for (const Box& b : BoxesOf<T>(op, boxes, scale)) {
    out.push_back(
        {axis(b.y1, b.y2, parts_h, height), axis(b.x1, b.x2, parts_w, width)});
  }
  return out;
}

// psroi_pool: corners are rounded before they are scaled.
template <typename T>
std::vector<Region> PartRegions(const char* op, const Tensor& boxes,
                                double scale, int64_t parts_h, int64_t parts_w,
                                int64_t height, int64_t width) {
  const auto axis = [&](double low, double high, int64_t parts, int64_t size) {
    std::vector<Span> spans;
    const double start = std::round(low) * scale;
    const double end = (std::round(high) + 1) * scale;
    const double part = std::max(end - start, 0.1) / static_cast<double>(parts);
    for (int64_t p = 0; p < parts; ++p) {
      spans.push_back(ClampedSpan(static_cast<double>(p) * part + start,
                                  static_cast<double>(p + 1) * part + start,
                                  size));
    }
    return spans;
  };
  std::vector<Region> out;
  for (const Box& b : BoxesOf<T>(op, boxes, scale)) {
    out.push_back(
        {axis(b.y1, b.y2, parts_h, height), axis(b.x1, b.x2, parts_w, width)});
  }
  return out;
}

// Calls f(plane) for all of [0, planes), each worth `each` pixels.
template <typename F>
void EachPlane(int64_t planes, int64_t each, F f) {
  parallel_for(0, planes, kGrain / (each + 1) + 1, [&](int64_t b, int64_t e) {
    for (int64_t plane = b; plane < e; ++plane) f(plane);
  });
}

// First region of each image, and one beyond the last.
std::vector<int64_t> FirstOf(const std::vector<int64_t>& images,
                             int64_t count) {
  std::vector<int64_t> first(count + 1, 0);
  for (const int64_t n : images) ++first[n + 1];
  for (int64_t n = 0; n < count; ++n) first[n + 1] += first[n];
  return first;
}

void RequirePlace(const char* op, int64_t place, int64_t size) {
  if (place >= -1 && place < size) return;
  ThrowError(absl::StatusCode::kOutOfRange,
             std::string(op) + ": place " + std::to_string(place) +
                 " is out of range for planes of " + std::to_string(size));
}

}  // namespace

void RoiAlign(const KernelContext&, const Tensor& x, const Tensor& boxes,
              const Tensor& boxes_num, int64_t parts_h, int64_t parts_w,
              double scale, int64_t sampling_ratio, bool aligned, Tensor* out) {
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  const auto images = ImagesOf("roi_align", boxes_num, boxes.size(0));
  VisitReal(x.dtype(), [&]<typename T>(T) {
    const auto regions =
        AlignRegions<T>("roi_align", boxes, scale, sampling_ratio, aligned,
                        parts_h, parts_w, height, width);
    EachPlane(out->size(0) * channels, height * width, [&](int64_t plane) {
      const AlignedRegion& region = regions[plane / channels];
      const T* from = x.data<T>() +
                      (images[plane / channels] * channels + plane % channels) *
                          height * width;
      T* to = out->data<T>() + plane * parts_h * parts_w;
      for (const Weights& rows : region.rows) {
        for (const Weights& columns : region.columns) {
          double sum = 0;
          for (size_t i = 0; i < rows.values.size(); ++i) {
            const T* row = from + (rows.first + i) * width + columns.first;
            double part = 0;
            for (size_t j = 0; j < columns.values.size(); ++j) {
              part += columns.values[j] * static_cast<double>(row[j]);
            }
            sum += rows.values[i] * part;
          }
          *to++ = static_cast<T>(sum);
        }
      }
    });
  });
}

void RoiAlignGrad(const KernelContext&, const Tensor& dy, const Tensor& boxes,
                  const Tensor& boxes_num, const IntArray&, double scale,
                  int64_t sampling_ratio, bool aligned, Tensor* out) {
  const int64_t channels = out->size(1), height = out->size(2);
  const int64_t width = out->size(3), parts_h = dy.size(2),
                parts_w = dy.size(3);
  const auto first = FirstOf(
      ImagesOf("roi_align_grad", boxes_num, boxes.size(0)), out->size(0));
  VisitReal(dy.dtype(), [&]<typename T>(T) {
    const auto regions =
        AlignRegions<T>("roi_align_grad", boxes, scale, sampling_ratio, aligned,
                        parts_h, parts_w, height, width);
    EachPlane(out->size(0) * channels, height * width, [&](int64_t plane) {
      std::vector<double> sums(height * width, 0.0);
      const int64_t image = plane / channels;
      for (int64_t r = first[image]; r < first[image + 1]; ++r) {
        const T* from = dy.data<T>() +
                        (r * channels + plane % channels) * parts_h * parts_w;
        for (const Weights& rows : regions[r].rows) {
          for (const Weights& columns : regions[r].columns) {
            const double g = static_cast<double>(*from++);
            for (size_t i = 0; i < rows.values.size(); ++i) {
              double* row =
                  sums.data() + (rows.first + i) * width + columns.first;
              for (size_t j = 0; j < columns.values.size(); ++j) {
                row[j] += g * rows.values[i] * columns.values[j];
              }
            }
          }
        }
      }
      std::transform(sums.begin(), sums.end(),
                     out->data<T>() + plane * height * width,
                     [](double v) { return static_cast<T>(v); });
    });
  });
}

void RoiPool(const KernelContext&, const Tensor& x, const Tensor& boxes,
             const Tensor& boxes_num, int64_t parts_h, int64_t parts_w,
             double scale, Tensor* out, Tensor* argmax) {
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  const auto images = ImagesOf("roi_pool", boxes_num, boxes.size(0));
  VisitReal(x.dtype(), [&]<typename T>(T) {
    const auto regions = WholeRegions<T>("roi_pool", boxes, scale, parts_h,
                                         parts_w, height, width);
    EachPlane(out->size(0) * channels, height * width, [&](int64_t plane) {
      const Region& region = regions[plane / channels];
      const T* from = x.data<T>() +
                      (images[plane / channels] * channels + plane % channels) *
                          height * width;
      T* to = out->data<T>() + plane * parts_h * parts_w;
      int64_t* place = argmax->data<int64_t>() + plane * parts_h * parts_w;
      for (const Span& rows : region.rows) {
        for (const Span& columns : region.columns) {
          int64_t best = -1;
          for (int64_t i = rows.begin; i < rows.end; ++i) {
            for (int64_t j = columns.begin; j < columns.end; ++j) {
              const T v = from[i * width + j];
              if (best < 0 || v > from[best] ||
                  (std::isnan(v) && !std::isnan(from[best]))) {
                best = i * width + j;
              }
            }
          }
          *to++ = best < 0 ? T(0) : from[best];
          *place++ = best;
        }
      }
    });
  });
}

void RoiPoolGrad(const KernelContext&, const Tensor& dy, const Tensor& argmax,
                 const Tensor& boxes_num, const IntArray&, Tensor* out) {
  const int64_t channels = out->size(1), size = out->size(2) * out->size(3);
  const int64_t parts = dy.size(2) * dy.size(3);
  const auto first =
      FirstOf(ImagesOf("roi_pool_grad", boxes_num, dy.size(0)), out->size(0));
  VisitReal(dy.dtype(), [&]<typename T>(T) {
    EachPlane(out->size(0) * channels, size, [&](int64_t plane) {
      T* to = out->data<T>() + plane * size;
      std::fill_n(to, size, T(0));
      const int64_t image = plane / channels;
      for (int64_t r = first[image]; r < first[image + 1]; ++r) {
        const int64_t at = (r * channels + plane % channels) * parts;
        for (int64_t k = at; k < at + parts; ++k) {
          const int64_t place = argmax.data<int64_t>()[k];
          RequirePlace("roi_pool_grad", place, size);
          if (place >= 0) to[place] += dy.data<T>()[k];
        }
      }
    });
  });
}

void RoiPoolPick(const KernelContext&, const Tensor& x, const Tensor& argmax,
                 const Tensor& boxes_num, Tensor* out) {
  const int64_t channels = x.size(1), size = x.size(2) * x.size(3);
  const int64_t parts = argmax.size(2) * argmax.size(3);
  const auto images = ImagesOf("roi_pool_pick", boxes_num, argmax.size(0));
  VisitReal(x.dtype(), [&]<typename T>(T) {
    EachPlane(argmax.size(0) * channels, parts, [&](int64_t plane) {
      const T* from =
          x.data<T>() +
          (images[plane / channels] * channels + plane % channels) * size;
      for (int64_t k = plane * parts; k < (plane + 1) * parts; ++k) {
        const int64_t place = argmax.data<int64_t>()[k];
        RequirePlace("roi_pool_pick", place, size);
        out->data<T>()[k] = place < 0 ? T(0) : from[place];
      }
    });
  });
}

void PsroiPool(const KernelContext&, const Tensor& x, const Tensor& boxes,
               const Tensor& boxes_num, int64_t parts_h, int64_t parts_w,
               int64_t channels, double scale, Tensor* out) {
  const int64_t height = x.size(2), width = x.size(3);
  const auto images = ImagesOf("psroi_pool", boxes_num, boxes.size(0));
  VisitReal(x.dtype(), [&]<typename T>(T) {
    const auto regions = PartRegions<T>("psroi_pool", boxes, scale, parts_h,
                                        parts_w, height, width);
    EachPlane(out->size(0) * channels, height * width, [&](int64_t plane) {
      const Region& region = regions[plane / channels];
      const T* from = x.data<T>() +
                      (images[plane / channels] * channels + plane % channels) *
                          parts_h * parts_w * height * width;
      T* to = out->data<T>() + plane * parts_h * parts_w;
      for (const Span& rows : region.rows) {
        for (const Span& columns : region.columns) {
          double sum = 0;
          int64_t pixels = 0;
          for (int64_t i = rows.begin; i < rows.end; ++i) {
            for (int64_t j = columns.begin; j < columns.end; ++j, ++pixels) {
              sum += static_cast<double>(from[i * width + j]);
            }
          }
          *to++ = pixels == 0
                      ? T(0)
                      : static_cast<T>(sum / static_cast<double>(pixels));
          from += height * width;
        }
      }
    });
  });
}

void PsroiPoolGrad(const KernelContext&, const Tensor& dy, const Tensor& boxes,
                   const Tensor& boxes_num, const IntArray&, double scale,
                   Tensor* out) {
  const int64_t height = out->size(2), width = out->size(3);
  const int64_t all = out->size(1), parts_h = dy.size(2), parts_w = dy.size(3);
  const int64_t parts = parts_h * parts_w;
  const auto first = FirstOf(
      ImagesOf("psroi_pool_grad", boxes_num, boxes.size(0)), out->size(0));
  VisitReal(dy.dtype(), [&]<typename T>(T) {
    const auto regions = PartRegions<T>("psroi_pool_grad", boxes, scale,
                                        parts_h, parts_w, height, width);
    EachPlane(out->size(0) * all, height * width, [&](int64_t plane) {
      std::vector<double> sums(height * width, 0.0);
      const int64_t image = plane / all, channel = plane % all;
      const int64_t part = channel % parts;
      for (int64_t r = first[image]; r < first[image + 1]; ++r) {
        const Span rows = regions[r].rows[part / parts_w];
        const Span columns = regions[r].columns[part % parts_w];
        const int64_t pixels =
            std::max<int64_t>(0, rows.end - rows.begin) *
            std::max<int64_t>(0, columns.end - columns.begin);
        if (pixels == 0) continue;
        const double g = static_cast<double>(dy.data<T>()[r * all + channel]) /
                         static_cast<double>(pixels);
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          for (int64_t j = columns.begin; j < columns.end; ++j) {
            sums[i * width + j] += g;
          }
        }
      }
      std::transform(sums.begin(), sums.end(),
                     out->data<T>() + plane * height * width,
                     [](double v) { return static_cast<T>(v); });
    });
  });
}

}  // namespace proa::inline v0::ops::cpu
