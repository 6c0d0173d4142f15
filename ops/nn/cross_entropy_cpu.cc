// Kernels of softmax cross entropy and of the negative log likelihood; compiled
// once per instruction set. Labels are read and checked first, on one thread.
#include <cstring>
#include <vector>

#include "ops/nn/class_labels.h"
#include "ops/nn/cross_entropy_kernels.h"
#include "ops/nn/row_loops.h"
#include "ops/nn/softmax_rows.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// log(sum(exp(x))) without overflow.
template <typename A>
A LogSumExp(const A* x, int64_t n) {
  A top;
  const A log_sum = LogSumFromTop(x, n, &top);
  return top + log_sum;
}

}  // namespace

void SoftmaxWithCrossEntropy(const KernelContext& ctx, const Tensor& logits,
                             const Tensor& label, bool soft_label,
                             int64_t ignore_index, int64_t axis, Tensor* loss) {
  const AxisLayout l = LayoutOf(logits, axis);
  if (l.size == 0 && loss->numel() > 0)
    std::memset(loss->raw_data(), 0, loss->bytes());
  std::vector<int64_t> classes;
  if (!soft_label)
    classes = ReadClassLabels("softmax_with_cross_entropy", label, l.size,
                              ignore_index);
  VisitFloat(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    T* const to = loss->data<T>();
    if (!soft_label) {
      ForEachRow<T, 1>(
          l, {logits.data<T>()}, nullptr, [&](int64_t r, const auto& in, A*) {
            to[r] = classes[r] == kIgnoredLabel
                        ? T(A(0))
                        : T(LogSumExp(in[0], l.size) - in[0][classes[r]]);
          });
      return;
    }
    const Tensor soft = FloatCopy(label, kDTypeOf<T>);
    ForEachRow<T, 2>(l, {logits.data<T>(), soft.data<T>()}, nullptr,
                     [&](int64_t r, const auto& in, A*) {
                       const A* x = in[0];
                       const A* p = in[1];
                       const A log_sum = LogSumExp(x, l.size);
                       to[r] = T(SumOver<A>(l.size, [&](int64_t i) {
                         return p[i] * (log_sum - x[i]);
                       }));
                     });
  });
}

void SoftmaxWithCrossEntropyGrad(const KernelContext& ctx,
                                 const Tensor& grad_loss, const Tensor& logits,
                                 const Tensor& label, bool soft_label,
                                 int64_t ignore_index, int64_t axis,
                                 Tensor* logits_grad) {
  const AxisLayout l = LayoutOf(logits, axis);
  std::vector<int64_t> classes;
  if (!soft_label) {
    classes = ReadClassLabels("softmax_with_cross_entropy_grad", label, l.size,
                              ignore_index);
  }
  VisitFloat(logits.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const T* const g = grad_loss.data<T>();
    if (!soft_label) {
      ForEachRow<T, 1>(l, {logits.data<T>()}, logits_grad->data<T>(),
                       [&](int64_t r, const auto& in, A* to) {
                         if (classes[r] == kIgnoredLabel) {
                           std::fill_n(to, l.size, A(0));
                           return;
                         }
                         const A scale = static_cast<A>(g[r]);
                         WeightedSoftmaxRow(in[0], l.size, scale, to);
                         to[classes[r]] -= scale;
                       });
      return;
    }
    const Tensor soft = FloatCopy(label, kDTypeOf<T>);
    ForEachRow<T, 2>(
        l, {logits.data<T>(), soft.data<T>()}, logits_grad->data<T>(),
        [&](int64_t r, const auto& in, A* to) {
          const A* p = in[1];
          const A scale = static_cast<A>(g[r]);
          const A total = SumOver<A>(l.size, [&](int64_t i) { return p[i]; });
          WeightedSoftmaxRow(in[0], l.size, scale * total, to);
          for (int64_t i = 0; i < l.size; ++i) to[i] -= p[i] * scale;
        });
  });
}

void NllLoss(const KernelContext& ctx, const Tensor& x, const Tensor& label,
             const Tensor& weight, int64_t ignore_index, Tensor* loss) {
  const AxisLayout l = LayoutOf(x, 1);
  const auto classes = ReadClassLabels("nll_loss", label, l.size, ignore_index);
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Tensor w = FloatCopy(weight, kDTypeOf<T>);
    for (int64_t r = 0; r < l.rows(); ++r) {
      const int64_t c = classes[r];
      T& to = loss->data<T>()[r];
      if (c == kIgnoredLabel) {
        to = T(0.0f);
        continue;
      }
      const T v =
          x.data<T>()[(r / l.inner * l.size + c) * l.inner + r % l.inner];
      to = w.defined() ? T(-(v * w.data<T>()[c])) : T(-v);
    }
  });
}

void NllLossGrad(const KernelContext& ctx, const Tensor& grad_loss,
                 const Tensor& label, const Tensor& weight,
                 const IntArray& x_shape, int64_t ignore_index,
                 Tensor* x_grad) {
  const AxisLayout l = LayoutOf(*x_grad, 1);
  const auto classes =
      ReadClassLabels("nll_loss_grad", label, l.size, ignore_index);
  if (x_grad->numel() == 0) return;
  std::memset(x_grad->raw_data(), 0, x_grad->bytes());
  VisitFloat(x_grad->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Tensor w = FloatCopy(weight, kDTypeOf<T>);
    for (int64_t r = 0; r < l.rows(); ++r) {
      const int64_t c = classes[r];
      if (c == kIgnoredLabel) continue;
      const T g = grad_loss.data<T>()[r];
      x_grad->data<T>()[(r / l.inner * l.size + c) * l.inner + r % l.inner] =
          w.defined() ? T(-(g * w.data<T>()[c])) : T(-g);
    }
  });
}

void NllLossWeight(const KernelContext& ctx, const Tensor& label,
                   const Tensor& weight, int64_t ignore_index, Tensor* out) {
  const auto classes =
      ReadClassLabels("nll_loss_weight", label, weight.numel(), ignore_index);
  VisitFloat(weight.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < classes.size(); ++i) {
      out->data<T>()[i] =
          classes[i] == kIgnoredLabel ? T(0.0f) : weight.data<T>()[classes[i]];
    }
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
