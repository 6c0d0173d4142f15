// Loops over the channels of images, for kernels compiled once per instruction
// set: two sums over each channel in one pass, and a walk over all elements
// with the channel of each.
//
// One task is a channel where its pixels are dense ([N, C, ...]), or some rows
// of all channels where these are the last dim. Sums are kept in double and add
// up in an order that does not depend on the number of threads.
#ifndef PROA_OPS_NN_CHANNEL_LOOPS_H_
#define PROA_OPS_NN_CHANNEL_LOOPS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "ops/nn/row_loops.h"
#include "ops/nn/window.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::PROA_ISA::channel_loops {

// x as [batch, channels, inner], or [batch, channels] with channels last.
struct ChannelLayout {
  int64_t batch = 1, channels = 1, inner = 1;
  bool last = false;
  int64_t count() const { return batch * inner; }
};

inline ChannelLayout LayoutOf(const Tensor& x, std::string_view data_format) {
  ChannelLayout l;
  l.last = ChannelDimOf(x.rank(), data_format) == x.rank() - 1;
  if (l.last) {
    for (int d = 0; d + 1 < x.rank(); ++d) l.batch *= x.size(d);
    l.channels = x.size(x.rank() - 1);
  } else {
    l.batch = x.size(0);
    l.channels = x.size(1);
    for (int d = 2; d < x.rank(); ++d) l.inner *= x.size(d);
  }
  return l;
}

// Rows of x (pixels of all channels, where these are the last dim) that are
// summed in A before they are added up in double.
inline constexpr int64_t kRows = 64;
// Channels that are summed at a time.
inline constexpr int64_t kBlock = 256;

// Of which the sums are kept apart, so that they do not depend on the number of
// threads.
inline int64_t RowsPerPart(const ChannelLayout& l) {
  constexpr int64_t kMostParts = 64;
  const int64_t rows =
      std::max<int64_t>(65536 / std::max<int64_t>(l.channels, 1),
                        (l.batch + kMostParts - 1) / kMostParts);
  return (rows + kRows - 1) / kRows * kRows;
}

// Nothing has to be done before elements are summed.
struct NoPreparation {
  void operator()(int64_t begin, int64_t end) const {}
};

// Adds first(c, offset) and second(c, offset) of the rows [begin, end) to
// sums[c] and sums[channels + c].
template <typename A, typename First, typename Second, typename Prepare>
void AddRows(const ChannelLayout& l, int64_t begin, int64_t end, double* sums,
             First&& first, Second&& second, Prepare&& prepare) {
  for (int64_t b = begin; b < end; b += kRows) {
    const int64_t last = std::min(b + kRows, end);
    prepare(b * l.channels, last * l.channels);
    for (int64_t c0 = 0; c0 < l.channels; c0 += kBlock) {
      const int64_t n = std::min(kBlock, l.channels - c0);
      A one[kBlock] = {}, two[kBlock] = {};
      for (int64_t r = b; r < last; ++r) {
        const int64_t start = r * l.channels + c0;
        for (int64_t c = 0; c < n; ++c) {
          one[c] += first(c0 + c, start + c);
          two[c] += second(c0 + c, start + c);
        }
      }
      for (int64_t c = 0; c < n; ++c) {
        sums[c0 + c] += one[c];
        sums[l.channels + c0 + c] += two[c];
      }
    }
  }
}

// Two sums over each channel in one pass: sums[c] and sums[channels + c] of
// first(c, offset) and second(c, offset). prepare(begin, end) is called once
// for all offsets, each time shortly before some of them are asked for.
template <typename A, typename First, typename Second,
          typename Prepare = NoPreparation>
void SumChannels(const ChannelLayout& l, double* sums, First&& first,
                 Second&& second, Prepare&& prepare = {}) {
  std::fill_n(sums, 2 * l.channels, 0.0);
  if (!l.last) {
    const int64_t grain =
        std::max<int64_t>(1, 16384 / std::max<int64_t>(1, l.count()));
    parallel_for(0, l.channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t b = 0; b < l.batch; ++b) {
          const int64_t start = (b * l.channels + c) * l.inner;
          prepare(start, start + l.inner);
          sums[c] += SumOver<A>(l.inner,
                                [&](int64_t i) { return first(c, start + i); });
          sums[l.channels + c] += SumOver<A>(
              l.inner, [&](int64_t i) { return second(c, start + i); });
        }
      }
    });
    return;
  }
  const int64_t rows = RowsPerPart(l), parts = (l.batch + rows - 1) / rows;
  if (parts <= 1)
    return AddRows<A>(l, 0, l.batch, sums, first, second, prepare);
  const Tensor scratch =
      Tensor::Empty({parts, 2 * l.channels}, DType::kFloat64);
  double* const part = scratch.data<double>();
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      double* const to = part + k * 2 * l.channels;
      std::fill_n(to, 2 * l.channels, 0.0);
      AddRows<A>(l, k * rows, std::min(l.batch, (k + 1) * rows), to, first,
                 second, prepare);
    }
  });
  for (int64_t k = 0; k < parts; ++k)
    for (int64_t c = 0; c < 2 * l.channels; ++c)
      sums[c] += part[k * 2 * l.channels + c];
}

// Calls f(c, offset) for all elements, in parallel.
template <typename F>
void ForEachElement(const ChannelLayout& l, F&& f) {
  const int64_t inner = l.last ? l.channels : l.inner;
  const int64_t runs = l.last ? l.batch : l.batch * l.channels;
  if (inner == 0) return;
  parallel_for(0, runs, std::max<int64_t>(1, 16384 / inner),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const int64_t start = r * inner;
                   if (l.last) {
                     for (int64_t c = 0; c < inner; ++c) f(c, start + c);
                   } else {
                     const int64_t c = r % l.channels;
                     for (int64_t i = 0; i < inner; ++i) f(c, start + i);
                   }
                 }
               });
}

template <typename A>
const A* DataOrNull(const Tensor& t) {
  return t.defined() ? t.data<A>() : nullptr;
}

// Scratch: rows of one value for each channel.
template <typename A>
class Rows {
 public:
  Rows(const ChannelLayout& l, int64_t n)
      : channels_(l.channels),
        all_(Tensor::Empty({n, l.channels}, kDTypeOf<A>)) {}
  A* operator[](int64_t i) const { return all_.data<A>() + i * channels_; }
  // As a tensor [C].
  Tensor Row(int64_t i) const {
    return all_.AsStrided({channels_}, {1}, i * channels_);
  }

 private:
  int64_t channels_;
  Tensor all_;
};

// As the op relu: NaN stays.
template <typename A>
inline A Positive(A v) {
  return v < 0 ? A(0) : v;
}

// scale and shift, so that x * scale + shift is what was normalized.
template <typename A>
void FindScaleAndShift(const ChannelLayout& l, const A* mean, const A* inv_std,
                       const A* weight, const A* bias, A* scale, A* shift) {
  for (int64_t c = 0; c < l.channels; ++c) {
    scale[c] = weight != nullptr ? inv_std[c] * weight[c] : inv_std[c];
    shift[c] = (bias != nullptr ? bias[c] : A(0)) - mean[c] * scale[c];
  }
}

// The same from statistics that are given; all are tensors [C] of A, `weight`
// and `bias` may be undefined.
template <typename A>
void FindScaleAndShiftOf(const ChannelLayout& l, const Tensor& mean,
                         const Tensor& variance, const Tensor& weight,
                         const Tensor& bias, A epsilon, A* scale, A* shift) {
  const Rows<A> inv_std(l, 1);
  for (int64_t k = 0; k < l.channels; ++k)
    inv_std[0][k] = A(1) / std::sqrt(variance.data<A>()[k] + epsilon);
  FindScaleAndShift(l, mean.data<A>(), inv_std[0], DataOrNull<A>(weight),
                    DataOrNull<A>(bias), scale, shift);
}

}  // namespace proa::inline v0::ops::PROA_ISA::channel_loops

#endif  // PROA_OPS_NN_CHANNEL_LOOPS_H_
