// Kernels of softmax and log_softmax, compiled once per instruction set. Along
// the last axis one pass over a row in cache for each of: maximum, exponentials
// with their sum, result. Along others one pass for maximum and sum of many
// columns side by side, and one for the result.
#include <cmath>

#include "ops/indexing/image_axis.h"
#include "ops/nn/row_loops.h"
#include "ops/nn/softmax_kernels.h"
#include "ops/nn/softmax_rows.h"
#include "ops/primitives/cpu/exp_sum.h"
#include "ops/primitives/cpu/loops.h"
#include "ops/primitives/cpu/summary.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Runs `row(in..., n, out)` over all rows of tensors with one dtype and shape.
template <int kInputs, typename F>
void Run(const Tensor* const (&in)[kInputs], int64_t axis, Tensor* out,
         F&& row) {
  const AxisLayout layout = LayoutOf(*out, axis);
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data[kInputs];
    for (int k = 0; k < kInputs; ++k) data[k] = in[k]->template data<T>();
    ForEachRow<T, kInputs>(layout, data, out->data<T>(),
                           [&](int64_t, const auto& rows, auto* to) {
                             row(rows, layout.size, to);
                           });
  });
}

// Calls rows(in, count, n, out) for runs of rows of n elements.
template <typename F>
void RunRows(const Tensor& x, const AxisLayout& layout, Tensor* out, F&& rows) {
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachRun(layout, x.data<T>(), out->data<T>(),
               [&](const auto* in, int64_t count, auto* to) {
                 rows(in, count, layout.size, to);
               });
  });
}

struct ScaledExp {
  static constexpr float kCost = 6;
  static double ScaleOf(double sum) { return 1 / sum; }
  template <class T>
  static T Apply(T x, T top, T scale) {
    return Exp(x - top) * scale;
  }
};

struct LogOfScaledExp {
  static double ScaleOf(double sum) { return std::log(sum); }
  template <class T>
  static T Apply(T x, T top, T log_sum) {
    return (x - top) - log_sum;
  }
};

// Formula(x, top, ScaleOf(sum)) with the largest element along `axis` and the
// sum of exponentials of distances from it.
template <class Formula>
void RunColumns(const Tensor& x, int64_t axis, Tensor* out) {
  const int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  Shape shape = x.shape();
  shape[at] = 1;
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    using Op = ExpSumOf<A>;
    const Tensor top = Tensor::Empty(shape, kDTypeOf<A>);
    const Tensor scale = Tensor::Empty(shape, kDTypeOf<A>);
    Summarize<Op>(
        x, uint64_t{1} << at, Op::kCost,
        [&](int64_t first, const typename Op::State* states, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            // Beside an infinite one nothing is of the right size.
            const A largest = states[i].largest;
            const double sum = static_cast<double>(
                std::isfinite(largest) ? states[i].sum : A(NAN));
            top.data<A>()[first + i] = largest;
            scale.data<A>()[first + i] = static_cast<A>(Formula::ScaleOf(sum));
          }
        });
    RunElementwise<T>(Formula{}, out, x, top, scale);
  });
}

}  // namespace

void Softmax(const KernelContext& ctx, const Tensor& x, int64_t axis,
             Tensor* out) {
  AlongAxis a = InOneOrder(x, *out, axis);
  const AxisLayout layout = LayoutOf(a.x, a.axis);
  if (layout.inner > 1) return RunColumns<ScaledExp>(a.x, a.axis, &a.out);
  RunRows(a.x, layout, &a.out,
          [](const auto* in, int64_t rows, int64_t n, auto* to) {
            using A = std::remove_cvref_t<decltype(*to)>;
            SoftmaxRows(in, rows, n, A(1), to);
          });
}

void LogSoftmax(const KernelContext& ctx, const Tensor& x, int64_t axis,
                Tensor* out) {
  AlongAxis a = InOneOrder(x, *out, axis);
  const AxisLayout layout = LayoutOf(a.x, a.axis);
  if (layout.inner > 1) return RunColumns<LogOfScaledExp>(a.x, a.axis, &a.out);
  RunRows(a.x, layout, &a.out,
          [](const auto* in, int64_t rows, int64_t n, auto* to) {
            LogSoftmaxRows(in, rows, n, to);
          });
}

void SoftmaxGrad(const KernelContext& ctx, const Tensor& out,
                 const Tensor& grad_out, int64_t axis, Tensor* x_grad) {
  AlongAxis y = InOneOrder(out, *x_grad, axis);
  const AlongAxis g = InOneOrder(grad_out, *x_grad, axis);
  Run<2>({&y.x, &g.x}, y.axis, &y.out, [](const auto& in, int64_t n, auto* to) {
    const auto* y = in[0];
    const auto* g = in[1];
    using A = std::remove_cvref_t<decltype(*y)>;
    const A dot = SumOver<A>(n, [&](int64_t i) { return y[i] * g[i]; });
    for (int64_t i = 0; i < n; ++i) to[i] = (g[i] - dot) * y[i];
  });
}

void LogSoftmaxGrad(const KernelContext& ctx, const Tensor& out,
                    const Tensor& grad_out, int64_t axis, Tensor* x_grad) {
  AlongAxis y = InOneOrder(out, *x_grad, axis);
  const AlongAxis g = InOneOrder(grad_out, *x_grad, axis);
  Run<2>({&y.x, &g.x}, y.axis, &y.out, [](const auto& in, int64_t n, auto* to) {
    const auto* y = in[0];
    const auto* g = in[1];
    using A = std::remove_cvref_t<decltype(*y)>;
    const A total = SumOver<A>(n, [&](int64_t i) { return g[i]; });
    for (int64_t i = 0; i < n; ++i) to[i] = g[i] - Exp(y[i]) * total;
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
