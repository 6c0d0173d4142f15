// Kernels of the CTC loss, compiled once per instruction set: the
// forward-backward algorithm in log space, a sample at a time.
//
// A path has S = 2 length + 1 places, blank a blank b blank. From one step to
// the next it stays, moves on by one place, or skips a blank between labels
// that differ. All places of a step are computed side by side.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/nn/float_copy.h"
#include "ops/nn/row_loops.h"
#include "ops/recurrent/ctc_kernels.h"
#include "ops/recurrent/ctc_paths.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

template <typename A>
constexpr A kNever = -std::numeric_limits<A>::infinity();

// log(e^a + e^b + e^c), -inf where all are.
template <typename A>
inline A LogAdd(A a, A b, A c) {
  A top = b > a ? b : a;
  top = c > top ? c : top;
  const A base = top == kNever<A> ? A(0) : top;
  return base + Log(Exp(a - base) + Exp(b - base) + Exp(c - base));
}

// What both passes know of a sample: rows of S places with two more before and
// behind, which are never reached.
template <typename A>
class Trellis {
 public:
  static constexpr int64_t kMargin = 2;

  Trellis(const CtcPath& path, int64_t blank)
      : path_(path),
        size_(static_cast<int64_t>(path.classes.size())),
        skip_(size_ + 2 * kMargin, kNever<A>),
        scores_(size_ + 2 * kMargin, kNever<A>) {
    const std::vector<int64_t>& c = path.classes;
    for (int64_t s = 2; s < size_; ++s)
      if (c[s] != blank && c[s] != c[s - 2]) skip_[kMargin + s] = A(0);
  }

  int64_t size() const { return size_; }
  const CtcPath& path() const { return path_; }
  std::vector<A> Row() const {
    return std::vector<A>(size_ + 2 * kMargin, kNever<A>);
  }
  // Log probabilities of the places' classes at one step.
  const A* Scores(const A* logits, A log_sum) {
    A* to = scores_.data() + kMargin;
    for (int64_t s = 0; s < size_; ++s)
      to[s] = logits[path_.classes[s]] - log_sum;
    return to;
  }
  // alpha of a step from that of the one before; both without margin.
  void Forward(const A* before, const A* score, A* after) const {
    const A* skip = skip_.data() + kMargin;
    for (int64_t s = 0; s < size_; ++s)
      after[s] =
          LogAdd(before[s], before[s - 1], before[s - 2] + skip[s]) + score[s];
  }
  // beta of a step from `later`, beta plus score of the one behind it.
  void Backward(const A* later, A* beta) const {
    const A* skip = skip_.data() + kMargin;
    for (int64_t s = 0; s < size_; ++s)
      beta[s] = LogAdd(later[s], later[s + 1], later[s + 2] + skip[s + 2]);
  }

 private:
  const CtcPath& path_;
  int64_t size_;
  std::vector<A> skip_;
  std::vector<A> scores_;
};

template <typename A>
A LogSumExp(const A* x, int64_t n) {
  const A top = MaxOver(n, x);
  const A base = top == kNever<A> ? A(0) : top;
  return base + Log(SumOver<A>(n, [&](int64_t i) { return Exp(x[i] - base); }));
}

// The reserve of a sample: for each step alpha of its places, then log(sum(exp
// of the logits)).
template <typename A>
struct Reserve {
  A* data;
  int64_t steps, width;  // width: places of the longest label, and one
  A* Alpha(int64_t t) const { return data + t * width; }
  A& LogSum(int64_t t) const { return data[t * width + width - 1]; }
};

template <typename A>
Reserve<A> ReserveOf(const Tensor& reserve, int64_t sample) {
  const int64_t steps = reserve.size(1);
  const int64_t width = reserve.size(2) / static_cast<int64_t>(sizeof(A));
  return {static_cast<A*>(reserve.raw_data()) + sample * steps * width, steps,
          width};
}

// Samples worth a thread of their own.
int64_t Grain(const Tensor& logits, const Tensor& labels) {
  const int64_t work =
      logits.size(0) * (logits.size(2) + 20 * (2 * labels.size(1) + 1));
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(work, 1));
}

// Fills the reserve of one sample and gives its loss. logits: [T, N, C], of
// the sample.
template <typename T, typename A>
A LossOf(const CtcPath& path, int64_t blank, const T* logits, int64_t stride,
         int64_t classes, const Reserve<A>& reserve) {
  constexpr int64_t kMargin = Trellis<A>::kMargin;
  std::fill_n(reserve.data, reserve.steps * reserve.width, A(0));
  if (!path.possible) return A(0);
  Trellis<A> trellis(path, blank);
  const RowBuffer<A> wide(std::is_same_v<T, A> ? 0 : 1, classes);
  std::vector<A> rows[2] = {trellis.Row(), trellis.Row()};
  A* before = rows[0].data() + kMargin;
  A* after = rows[1].data() + kMargin;
  for (int64_t t = 0; t < path.steps; ++t) {
    const A* row = Widened(logits + t * stride, classes, wide[0]);
    const A log_sum = LogSumExp(row, classes);
    reserve.LogSum(t) = log_sum;
    const A* score = trellis.Scores(row, log_sum);
    if (t == 0) {
      after[0] = score[0];
      if (trellis.size() > 1) after[1] = score[1];
    } else {
      trellis.Forward(before, score, after);
    }
    std::copy_n(after, trellis.size(), reserve.Alpha(t));
    std::swap(before, after);
  }
  const A* end = before + trellis.size();
  return -LogAdd(end[-1], trellis.size() > 1 ? end[-2] : kNever<A>, kNever<A>);
}

// One sample of the gradient, of which rows are cleared before.
template <typename T, typename A>
void GradOf(const CtcPath& path, int64_t blank, const T* logits, int64_t stride,
            int64_t classes, const Reserve<A>& reserve, A grad, T* to) {
  constexpr int64_t kMargin = Trellis<A>::kMargin;
  Trellis<A> trellis(path, blank);
  const int64_t size = trellis.size(), last = path.steps - 1;
  const RowBuffer<A> wide(std::is_same_v<T, A> ? 0 : 2, classes);
  std::vector<A> later = trellis.Row(), beta = trellis.Row();
  std::vector<A> share(size);
  const A* end = reserve.Alpha(last) + size;
  const A total = LogAdd(end[-1], size > 1 ? end[-2] : kNever<A>, kNever<A>);
  for (int64_t t = last; t >= 0; --t) {
    const A* row = Widened(logits + t * stride, classes, wide[0]);
    const A log_sum = reserve.LogSum(t);
    A* b = beta.data() + kMargin;
    if (t == last) {
      b[size - 1] = A(0);
      if (size > 1) b[size - 2] = A(0);
    } else {
      trellis.Backward(later.data() + kMargin, b);
    }
    const A* alpha = reserve.Alpha(t);
    for (int64_t s = 0; s < size; ++s)
      share[s] = grad * Exp(alpha[s] + b[s] - total);
    A* out;
    if constexpr (std::is_same_v<T, A>) {
      out = to + t * stride;
    } else {
      out = wide[1];
    }
    for (int64_t c = 0; c < classes; ++c) out[c] = grad * Exp(row[c] - log_sum);
    for (int64_t s = 0; s < size; ++s) out[path.classes[s]] -= share[s];
    if constexpr (!std::is_same_v<T, A>) Narrow(out, classes, to + t * stride);
    const A* score = trellis.Scores(row, log_sum);
    for (int64_t s = 0; s < size; ++s) later[kMargin + s] = b[s] + score[s];
  }
}

}  // namespace

void CtcLoss(const KernelContext& ctx, const Tensor& logits,
             const Tensor& labels, const Tensor& input_lengths,
             const Tensor& label_lengths, int64_t blank, bool norm_by_times,
             Tensor* loss, Tensor* reserve) {
  const std::vector<CtcPath> paths =
      CtcPaths("ctc_loss", logits, labels, input_lengths, label_lengths, blank);
  const int64_t batch = logits.size(1), classes = logits.size(2);
  VisitFloat(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    parallel_for(0, batch, Grain(logits, labels),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t n = begin; n < end; ++n)
                     loss->data<T>()[n] = T(LossOf<T, A>(
                         paths[n], blank, logits.data<T>() + n * classes,
                         batch * classes, classes, ReserveOf<A>(*reserve, n)));
                 });
  });
}

void CtcLossGrad(const KernelContext& ctx, const Tensor& grad_loss,
                 const Tensor& logits, const Tensor& labels,
                 const Tensor& input_lengths, const Tensor& label_lengths,
                 const Tensor& given_reserve, int64_t blank, bool norm_by_times,
                 Tensor* logits_grad) {
  const std::vector<CtcPath> paths = CtcPaths(
      "ctc_loss_grad", logits, labels, input_lengths, label_lengths, blank);
  const int64_t batch = logits.size(1), classes = logits.size(2);
  const int64_t stride = batch * classes;
  if (logits_grad->numel() > 0)
    std::memset(logits_grad->raw_data(), 0, logits_grad->bytes());
  VisitFloat(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Tensor grad = FloatCopy(grad_loss, kDTypeOf<A>);
    Tensor reserve = given_reserve;
    if (!reserve.defined()) {
      const int64_t width = (2 * labels.size(1) + 2) * int64_t{sizeof(A)};
      reserve = Tensor::Empty({batch, logits.size(0), width}, DType::kUInt8,
                              logits.place());
    }
    parallel_for(
        0, batch, Grain(logits, labels), [&](int64_t begin, int64_t end) {
          for (int64_t n = begin; n < end; ++n) {
            const CtcPath& path = paths[n];
            if (!path.possible) continue;
            const T* of = logits.data<T>() + n * classes;
            const Reserve<A> r = ReserveOf<A>(reserve, n);
            if (!given_reserve.defined())
              LossOf<T, A>(path, blank, of, stride, classes, r);
            const A times = norm_by_times ? static_cast<A>(path.steps) : A(1);
            GradOf<T, A>(path, blank, of, stride, classes, r,
                         grad.data<A>()[n] / times,
                         logits_grad->data<T>() + n * classes);
          }
        });
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
