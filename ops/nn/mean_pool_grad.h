// The gradient of mean pooling, by input rows. Compiled once for each
// instruction set.
#ifndef PROA_OPS_NN_MEAN_POOL_GRAD_H_
#define PROA_OPS_NN_MEAN_POOL_GRAD_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/nn/pool_geometry.h"
#include "ops/nn/pool_loops.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/primitives/cpu/vector_parts.h"
#include "ops/primitives/cpu/vectors.h"

namespace proa::inline v0::ops::PROA_ISA {

// The shares that a row of windows gives to its elements are added up along the
// row first: all input rows that it sees take the same. These sums are kept as
// long as there are such rows, and each input row, the sum of some of them, is
// written once. An element adds up columns, then rows, each in their order,
// whichever thread does it. Rows have room for whole vectors.
template <typename T>
class MeanPoolGradient {
 public:
  MeanPoolGradient(const PoolGeometry& g, const PoolRows& rows,
                   const PoolDivisor& divisor)
      : g_(g),
        divisor_(divisor),
        channels_(rows.channels),
        width_(g.in[2] * channels_),
        first_(rows.first),
        last_(rows.last),
        stride_(g.adaptive ? 1 : g.window.stride[2]),
        phases_(channels_ == 1 && g.ByTaps(2) && stride_ <= kMostPhases),
        stream_(rows.stream) {
    for (int d = 0; d < kMostSpatialDims; ++d) FindSeeing(d);
    planes_kept_ = most_[0];
    rows_kept_ = g.in[0] > 1 ? g.out[1] : most_[1];
    row_ = width_ + kLanes;
    int64_t shares = g.out[2] * channels_ + kLanes;
    if (phases_) {
      reach_ = (g.window.kernel[2] - 1) / stride_;
      room_ = (g.window.pad_before[2] + g.in[2] + stride_ - 1) / stride_;
      shares = reach_ + std::max(room_, g.out[2]) + kLanes;
      wide_.resize(stride_ > 1 ? stride_ * (room_ + kLanes) : 0);
    }
    shares_.assign(shares, A(0));
    for (int64_t j = 0; j < g.out[2]; ++j)
      counted_.push_back(g.Counted(2, j, divisor.exclusive));
    factors_.resize(g.out[2]);
    sums_.resize(planes_kept_ * rows_kept_ * row_);
    next_.resize(planes_kept_);
    if (!stream_ && std::is_same_v<T, A>) return;
    together_ = std::max<int64_t>(1, kTogether / width_);
    waiting_.resize(together_ * width_ + kLanes);
    if (stream_ && !std::is_same_v<T, A>) rounded_.resize(together_ * width_);
  }

  // Of one image.
  void Run(const T* grad_out, T* x_grad) {
    grad_out_ = grad_out;
    const T* const begin = x_grad + first_ * width_;
    T* to = x_grad + first_ * width_;
    int64_t planes_begun = 0, waiting = 0;
    for (int64_t line = first_; line < last_; ++line) {
      const Span planes = seeing_[0][line / g_.in[1]];
      const Span rows = seeing_[1][line % g_.in[1]];
      for (; planes_begun < planes.end; ++planes_begun)
        next_[planes_begun % planes_kept_] = 0;
      parts_.clear();
      for (int64_t k = planes.begin; k < planes.end; ++k) {
        int64_t& next = next_[k % planes_kept_];
        // Of several planes the rows before these will be seen again.
        if (g_.in[0] == 1) next = std::max(next, rows.begin);
        for (; next < rows.end; ++next) Spread(k, next);
        for (int64_t i = rows.begin; i < rows.end; ++i)
          parts_.push_back(SumsOf(k, i));
      }
      if constexpr (std::is_same_v<T, A>) {
        if (!stream_) {
          AddParts(to);
          to += width_;
          continue;
        }
      }
      AddParts(waiting_.data() + waiting * width_);
      if (++waiting < together_ && line + 1 < last_) continue;
      Store(waiting * width_, to);
      to += waiting * width_;
      waiting = 0;
    }
    if (stream_ && to != begin) StreamFence();
  }

 private:
  using A = typename Accumulate<T>::type;
  using V = VectorOf<A>;
  static constexpr int64_t kLanes = V::kLanes;
  static constexpr int64_t kMostPhases = 16;
  // Elements that are rounded or streamed at a time, at least.
  static constexpr int64_t kTogether = 2048;

  struct Span {
    int64_t begin = 0, end = 0;
  };

  // The outputs along dim d that see each position.
  void FindSeeing(int d) {
    int64_t first = 0, last = 0, begin, end;
    for (int64_t q = 0; q < g_.in[d]; ++q) {
      for (; first < g_.out[d]; ++first) {
        g_.Range(d, first, &begin, &end);
        if (end > q) break;
      }
      for (; last < g_.out[d]; ++last) {
        g_.Range(d, last, &begin, &end);
        if (begin > q) break;
      }
      seeing_[d].push_back({first, std::max(first, last)});
      most_[d] = std::max(most_[d], last - first);
    }
  }

  A* SumsOf(int64_t k, int64_t i) {
    return sums_.data() +
           (k % planes_kept_ * rows_kept_ + i % rows_kept_) * row_;
  }

  // What each window of output row i of plane k gives to an element, and the
  // sums of that over the windows that see each column.
  void Spread(int64_t k, int64_t i) {
    Share(grad_out_ + (k * g_.out[1] + i) * g_.out[2] * channels_,
          g_.Counted(0, k, divisor_.exclusive) *
              g_.Counted(1, i, divisor_.exclusive));
    A* const to = SumsOf(k, i);
    if (phases_)
      SpreadPhases(to);
    else
      SpreadColumns(to);
  }

  // `count`: the positions of the windows in the dims but the last.
  void Share(const T* grads, int64_t count) {
    if (count != count_) {
      count_ = count;
      for (int64_t j = 0; j < g_.out[2]; ++j) {
        factors_[j] =
            A(1) / (divisor_.value != 0 ? static_cast<A>(divisor_.value)
                                        : static_cast<A>(count * counted_[j]));
      }
    }
    A* const shares = shares_.data() + reach_;
    const A* const factors = factors_.data();
    if (channels_ == 1) {
      for (int64_t j = 0; j < g_.out[2]; ++j)
        shares[j] = static_cast<A>(grads[j]) * factors[j];
      return;
    }
    for (int64_t j = 0; j < g_.out[2]; ++j) {
      const A factor = factors[j];
      for (int64_t c = j * channels_; c < (j + 1) * channels_; ++c)
        shares[c] = static_cast<A>(grads[c]) * factor;
    }
  }

  // With u = column + padding, a column is seen by windows u / stride - b, as
  // long as u % stride + b * stride is a tap.
  void SpreadPhases(A* to) {
    const int64_t pad = g_.window.pad_before[2], columns = g_.in[2];
    if (stride_ == 1) return SumShares(reach_, pad, columns, to);
    const int64_t phase = room_ + kLanes;
    for (int64_t f = 0; f < stride_; ++f) {
      const int64_t more = g_.window.kernel[2] - 1 - f;
      SumShares(more < 0 ? -1 : more / stride_, 0, room_,
                wide_.data() + f * phase);
    }
    const A* const wide = wide_.data();
    if (stride_ == 2) {
      const A* const __restrict a = wide + pad % 2 * phase + pad / 2;
      const A* const __restrict b =
          wide + (pad + 1) % 2 * phase + (pad + 1) / 2;
      A* const __restrict sums = to;
      // The row has room for one more.
      for (int64_t j = 0; j < (columns + 1) / 2; ++j) {
        sums[2 * j] = a[j];
        sums[2 * j + 1] = b[j];
      }
      return;
    }
    int64_t f = pad % stride_, m = pad / stride_;
    for (int64_t q = 0; q < columns; ++q) {
      to[q] = wide[f * phase + m];
      if (++f == stride_) f = 0, ++m;
    }
  }

  // to[m] = the sum of the shares of windows [from + m - back, from + m].
  void SumShares(int64_t back, int64_t from, int64_t n, A* to) const {
    const A* const shares = shares_.data() + reach_ + from;
    for (int64_t m = 0; m < n; m += kLanes) {
      typename V::Type sum = {};
      for (int64_t b = back; b >= 0; --b) sum += V::Load(shares + m - b);
      V::Store(to + m, sum);
    }
  }

  void SpreadColumns(A* to) const {
    const int64_t channels = channels_;
    for (int64_t q = 0; q < g_.in[2]; ++q, to += channels) {
      const Span at = seeing_[2][q];
      const A* const from = shares_.data() + at.begin * channels;
      // What is written too much the next column overwrites.
      for (int64_t c = 0; c < channels; c += kLanes) {
        typename V::Type sum = {};
        const A* share = from + c;
        for (int64_t j = at.begin; j < at.end; ++j, share += channels)
          sum += V::Load(share);
        V::Store(to + c, sum);
      }
    }
  }

  // The sum of parts_, which is an input row.
  void AddParts(A* to) const {
    const int64_t count = static_cast<int64_t>(parts_.size());
    const A* const* const parts = parts_.data();
    for (int64_t q = 0; q < width_; q += kLanes) {
      typename V::Type sum = {};
      for (int64_t k = 0; k < count; ++k) sum += V::Load(parts[k] + q);
      if (q + kLanes <= width_)
        V::Store(to + q, sum);
      else
        StoreFirst(to + q, sum, width_ - q);
    }
  }

  // The first n elements that wait for it.
  void Store(int64_t n, T* to) {
    const A* const __restrict from = waiting_.data();
    const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
    if constexpr (std::is_same_v<T, A>) {
      StreamCopy(to, from, bytes);
    } else {
      T* const __restrict out = stream_ ? rounded_.data() : to;
      for (int64_t i = 0; i < n; ++i) out[i] = T(from[i]);
      if (stream_) StreamCopy(to, out, bytes);
    }
  }

  const PoolGeometry& g_;
  const PoolDivisor& divisor_;
  const int64_t channels_, width_;
  const int64_t first_, last_;  // input rows, through all planes
  const int64_t stride_;
  const bool phases_;  // columns are seen as their place in a stride says
  const bool stream_;
  // Windows that see a column beside its own; columns of a phase.
  int64_t reach_ = 0, room_ = 0;
  int64_t most_[kMostSpatialDims] = {1, 1, 1};  // outputs that see a position
  int64_t planes_kept_ = 1, rows_kept_ = 1, row_ = 0, together_ = 1;
  int64_t count_ = -1;  // that factors_ are for
  const T* grad_out_ = nullptr;
  std::vector<Span> seeing_[kMostSpatialDims];
  std::vector<int64_t> counted_, next_;  // next_: row of a plane to be spread
  std::vector<A> factors_, shares_, wide_, sums_, waiting_;
  std::vector<T> rounded_;
  std::vector<const A*> parts_;
};

}  // namespace proa::inline v0::ops::PROA_ISA

#endif  // PROA_OPS_NN_MEAN_POOL_GRAD_H_
