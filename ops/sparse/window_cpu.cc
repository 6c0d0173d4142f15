// Kernel of window.yaml. For one place of the window the elements and the
// results that they are in keep their order, so results are found by walking
// two lists; places of the window are shared by the threads.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/primitives/cpu/gather.h"
#include "ops/sparse/coordinates.h"
#include "ops/sparse/merge.h"
#include "ops/sparse/window_kernels.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

namespace proa::inline v0::ops::cpu {
namespace {

struct Window {
  std::span<const int64_t> kernel, strides, paddings, dilations;
  Shape image, result;

  int dims() const { return static_cast<int>(kernel.size()); }
  int64_t places() const {
    int64_t n = 1;
    for (const int64_t k : kernel) n *= k;
    return n;
  }
  // The place of the result that has an element at `at` (of the image) under
  // `offset` of the window; -1 if there is none.
  int64_t ResultOf(const int64_t* at, const int64_t* offset) const {
    int64_t place = at[0];
    for (int d = 0; d < dims(); ++d) {
      const int64_t steps =
          at[d + 1] + paddings[2 * d] - offset[d] * dilations[d];
      if (steps < 0 || steps % strides[d] != 0) return -1;
      const int64_t index = steps / strides[d];
      if (index >= result[d + 1]) return -1;
      place = place * result[d + 1] + index;
    }
    return place;
  }
};

// Elements and the places of their results, both rising.
struct Pairs {
  std::vector<int64_t> sources, places;
};

// Coordinates of all elements, one after the other.
std::vector<int64_t> CoordinatesOf(std::span<const int64_t> places,
                                   const Shape& shape) {
  const int rank = shape.rank();
  std::vector<int64_t> out(places.size() * rank);
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t rest = places[i];
    for (int d = rank - 1; d >= 0; --d) {
      out[i * rank + d] = rest % shape[d];
      rest /= shape[d];
    }
  }
  return out;
}

std::vector<Pairs> PairsOf(const Window& window,
                           std::span<const int64_t> places) {
  const int rank = window.image.rank();
  const int64_t n = static_cast<int64_t>(places.size());
  const std::vector<int64_t> at = CoordinatesOf(places, window.image);
  std::vector<Pairs> out(window.places());
  const int64_t grain = std::max<int64_t>(1, 2048 / std::max<int64_t>(n, 1));
  parallel_for(0, window.places(), grain, [&](int64_t begin, int64_t end) {
    DimVector offset(window.dims());
    for (int64_t k = begin; k < end; ++k) {
      int64_t rest = k;
      for (int d = window.dims() - 1; d >= 0; --d) {
        offset[d] = rest % window.kernel[d];
        rest /= window.kernel[d];
      }
      for (int64_t i = 0; i < n; ++i) {
        const int64_t place = window.ResultOf(&at[i * rank], offset.data());
        if (place < 0) continue;
        out[k].sources.push_back(i);
        out[k].places.push_back(place);
      }
    }
  });
  return out;
}

std::vector<int64_t> ResultsOf(std::span<const Pairs> pairs) {
  std::vector<int64_t> all;
  for (const Pairs& p : pairs) {
    all.insert(all.end(), p.places.begin(), p.places.end());
  }
  return Distinct(all, nullptr);
}

}  // namespace

void WindowRules(const KernelContext&, const Tensor& indices,
                 const IntArray& shape, std::span<const int64_t> kernel,
                 std::span<const int64_t> strides,
                 std::span<const int64_t> paddings,
                 std::span<const int64_t> dilations, bool submanifold,
                 Tensor* out, Tensor* source, Tensor* target, Tensor* counts) {
  const char* const op = "window_rules";
  Window window{kernel,
                strides,
                paddings,
                dilations,
                Shape(shape.values()),
                Shape(shape.values())};
  for (int d = 0; d < window.dims(); ++d) {
    window.result[d + 1] =
        (window.image[d + 1] + paddings[2 * d] + paddings[2 * d + 1] -
         dilations[d] * (kernel[d] - 1) - 1) /
            strides[d] +
        1;
  }
  window.result.numel();  // refuses what no number counts
  const std::vector<int64_t> places = PlacesOf(op, indices, window.image);
  RequireCoalesced(op, "indices", indices, places);
  const std::vector<Pairs> pairs = PairsOf(window, places);
  const std::vector<int64_t> results = submanifold ? places : ResultsOf(pairs);
  // The pairs whose results there are, and the numbers of these.
  std::vector<Pairs> kept(pairs.size());
  parallel_for(
      0, static_cast<int64_t>(pairs.size()),
      std::max<int64_t>(1, 4096 / std::max<int64_t>(1, indices.size(1))),
      [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          ForEachFound(pairs[k].places, results, [&](int64_t i, int64_t r) {
            kept[k].sources.push_back(pairs[k].sources[i]);
            kept[k].places.push_back(r);
          });
        }
      });
  *counts = Tensor::Empty({window.places()}, DType::kInt64);
  int64_t total = 0;
  for (size_t k = 0; k < kept.size(); ++k) {
    counts->data<int64_t>()[k] = static_cast<int64_t>(kept[k].sources.size());
    total += static_cast<int64_t>(kept[k].sources.size());
  }
  *source = Tensor::Empty({total}, DType::kInt64);
  *target = Tensor::Empty({total}, DType::kInt64);
  int64_t* from = source->data<int64_t>();
  int64_t* to = target->data<int64_t>();
  for (const Pairs& p : kept) {
    from = std::copy(p.sources.begin(), p.sources.end(), from);
    to = std::copy(p.places.begin(), p.places.end(), to);
  }
  *out = IndicesAt(op, results, window.result, indices.dtype());
}

}  // namespace proa::inline v0::ops::cpu
