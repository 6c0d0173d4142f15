// Kernels of batch normalization, compiled once per instruction set. x is read
// once for the statistics and once for the result (channel_loops.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ops/nn/batch_norm_kernels.h"
#include "ops/nn/batch_norm_relu_kernels.h"
#include "ops/nn/channel_loops.h"
#include "ops/nn/images.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

using namespace channel_loops;

// What follows the normalization in the same pass: a residual is added (unless
// undefined), negative values become 0.
struct After {
  bool relu = false;
  Tensor residual = {};
};

// v where y > 0, else 0. By the sign of -y: a compiler makes a masked load of a
// comparison, which waits for y and keeps the processor from reading ahead.
template <typename A>
inline A WherePositive(A y, A v) {
  using Bits = std::conditional_t<sizeof(A) == 4, int32_t, int64_t>;
  const Bits on = std::bit_cast<Bits>(A(0) - y) >> (8 * sizeof(A) - 1);
  return std::bit_cast<A>(std::bit_cast<Bits>(v) & on);
}

// out = grad where y is positive, else 0.
template <typename T, typename A>
void LetThrough(int64_t n, const T* __restrict y, const T* __restrict grad,
                T* __restrict out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = T(WherePositive(static_cast<A>(y[i]), static_cast<A>(grad[i])));
}

// out = x * scale + shift for each channel, and what comes after it.
template <typename T, typename A>
void ScaleAndShift(const ChannelLayout& l, const T* __restrict x,
                   const A* __restrict scale, const A* __restrict shift,
                   const After& after, const T* __restrict residual,
                   T* __restrict out) {
  const auto at = [=](int64_t c, int64_t i) {
    return static_cast<A>(x[i]) * scale[c] + shift[c];
  };
  if (residual != nullptr) {
    ForEachElement(l, [=](int64_t c, int64_t i) {
      out[i] = T(Positive(at(c, i) + static_cast<A>(residual[i])));
    });
  } else if (after.relu) {
    ForEachElement(
        l, [=](int64_t c, int64_t i) { out[i] = T(Positive(at(c, i))); });
  } else {
    ForEachElement(l, [=](int64_t c, int64_t i) { out[i] = T(at(c, i)); });
  }
}

// Something near the values of each channel: its first one. Sums of squares of
// differences from it lose nothing to cancellation.
template <typename T, typename A>
void FindPivots(const ChannelLayout& l, const T* x, A* pivots) {
  for (int64_t c = 0; c < l.channels; ++c) {
    const A first =
        l.count() > 0 ? static_cast<A>(x[l.last ? c : c * l.inner]) : A(0);
    pivots[c] = std::isfinite(first) ? first : A(0);
  }
}

// g(c, i) (x - mean)
template <typename T, typename A, typename Grad>
auto CenteredBy(const Grad& g, const T* x, const A* mean) {
  return [=](int64_t c, int64_t i) {
    return g(c, i) * (static_cast<A>(x[i]) - mean[c]);
  };
}

// x_grad from the sums above; see BatchNormInputGrad.
template <typename T, typename A, typename Grad>
void WriteInputGrad(const ChannelLayout& l, const Grad& g,
                    const T* __restrict x, const A* weight, const A* mean,
                    const A* inv_std, const A* shift, const A* slope,
                    const double* sums, T* __restrict x_grad) {
  const double count = static_cast<double>(std::max<int64_t>(l.count(), 1));
  // x_grad = a * g + b * x + c
  const Rows<A> rows(l, 3);
  A *const a = rows[0], *const b = rows[1], *const c0 = rows[2];
  for (int64_t c = 0; c < l.channels; ++c) {
    a[c] = weight != nullptr ? inv_std[c] * weight[c] : inv_std[c];
    double by_x = -static_cast<double>(a[c]) * inv_std[c] * inv_std[c] *
                  sums[l.channels + c] / count;
    double rest = -a[c] * sums[c] / count;
    if (slope != nullptr) by_x += slope[c] * inv_std[c] / count;
    if (shift != nullptr) rest += shift[c] / count;
    b[c] = static_cast<A>(by_x);
    c0[c] = static_cast<A>(rest);
  }
  ForEachElement(l, [=](int64_t c, int64_t i) {
    x_grad[i] =
        T(a[c] * g(c, i) + b[c] * (static_cast<A>(x[i]) - mean[c]) + c0[c]);
  });
}

// The residual as `images` lie, or null.
template <typename T>
const T* ResidualOf(const Images& images, const After& after, Tensor& holder) {
  if (!after.residual.defined()) return nullptr;
  holder = images.In(after.residual);
  return holder.data<T>();
}

void Train(const Tensor& x, const Tensor& running_mean,
           const Tensor& running_var, const Tensor& weight, const Tensor& bias,
           double momentum, double epsilon, std::string_view data_format,
           const After& after, Tensor* out, Tensor* running_mean_out,
           Tensor* running_var_out, Tensor* saved_mean, Tensor* saved_inv_std) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), result = images.Out(*out);
  const ChannelLayout l = LayoutOf(in, images.format());
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    constexpr DType kA = kDTypeOf<A>;
    const Tensor old_mean = FloatCopy(running_mean, kA);
    const Tensor old_var = FloatCopy(running_var, kA);
    const Tensor w = FloatCopy(weight, kA), b = FloatCopy(bias, kA);
    const A* pw = DataOrNull<A>(w);
    const A* pb = DataOrNull<A>(b);
    const Rows<A> rows(l, 7);
    A *const new_mean = rows[0], *const new_var = rows[1];
    A *const means = rows[2], *const inv_stds = rows[3];
    A *const scale = rows[4], *const shift = rows[5], *const pivots = rows[6];
    const T* px = in.data<T>();
    FindPivots(l, px, pivots);
    const Rows<double> sums(l, 2);
    SumChannels<A>(
        l, sums[0],
        [=](int64_t c, int64_t i) { return static_cast<A>(px[i]) - pivots[c]; },
        [=](int64_t c, int64_t i) {
          const A d = static_cast<A>(px[i]) - pivots[c];
          return d * d;
        });
    const double count = static_cast<double>(std::max<int64_t>(l.count(), 1));
    // An empty batch says nothing about the statistics.
    const A keep = l.count() == 0 ? A(1) : static_cast<A>(momentum);
    for (int64_t k = 0; k < l.channels; ++k) {
      const double off = sums[0][k] / count;
      const double spread = sums[1][k] / count - off * off;
      means[k] = static_cast<A>(pivots[k] + off);
      // Rounding may leave a little below zero; NaN stays.
      const A variance = spread < 0 ? A(0) : static_cast<A>(spread);
      inv_stds[k] = A(1) / std::sqrt(variance + static_cast<A>(epsilon));
      new_mean[k] = old_mean.data<A>()[k] * keep + means[k] * (A(1) - keep);
      new_var[k] = old_var.data<A>()[k] * keep + variance * (A(1) - keep);
    }
    FindScaleAndShift(l, means, inv_stds, pw, pb, scale, shift);
    Tensor holder;
    ScaleAndShift(l, px, scale, shift, after,
                  ResidualOf<T>(images, after, holder), result.data<T>());
    FloatCopyInto(rows.Row(0), *running_mean_out);
    FloatCopyInto(rows.Row(1), *running_var_out);
    FloatCopyInto(rows.Row(2), *saved_mean);
    FloatCopyInto(rows.Row(3), *saved_inv_std);
  });
}

// x * scale + shift and what comes after it; find(l, scale, shift) fills these
// two, one of each for a channel.
template <typename F>
void Normalize(const Tensor& x, std::string_view data_format,
               const After& after, Tensor* out, F&& find) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), result = images.Out(*out);
  const ChannelLayout l = LayoutOf(in, images.format());
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Rows<A> rows(l, 2);
    find(l, rows[0], rows[1]);
    Tensor holder;
    ScaleAndShift(l, in.data<T>(), rows[0], rows[1], after,
                  ResidualOf<T>(images, after, holder), result.data<T>());
  });
}

// The result of Train from the statistics that it saved.
void Again(const Tensor& x, const Tensor& mean, const Tensor& inv_std,
           const Tensor& weight, const Tensor& bias,
           std::string_view data_format, const After& after, Tensor* out) {
  Normalize(x, data_format, after, out,
            [&]<typename A>(const ChannelLayout& l, A* scale, A* shift) {
              constexpr DType kA = kDTypeOf<A>;
              const Tensor m = FloatCopy(mean, kA), r = FloatCopy(inv_std, kA);
              const Tensor w = FloatCopy(weight, kA), b = FloatCopy(bias, kA);
              FindScaleAndShift(l, m.data<A>(), r.data<A>(), DataOrNull<A>(w),
                                DataOrNull<A>(b), scale, shift);
            });
}

void Infer(const Tensor& x, const Tensor& mean, const Tensor& variance,
           const Tensor& weight, const Tensor& bias, double epsilon,
           std::string_view data_format, const After& after, Tensor* out) {
  Normalize(x, data_format, after, out,
            [&]<typename A>(const ChannelLayout& l, A* scale, A* shift) {
              constexpr DType kA = kDTypeOf<A>;
              FindScaleAndShiftOf(l, FloatCopy(mean, kA),
                                  FloatCopy(variance, kA),
                                  FloatCopy(weight, kA), FloatCopy(bias, kA),
                                  static_cast<A>(epsilon), scale, shift);
            });
}

// The gradients of batch normalization; null for those not wanted. With that of
// a residual relu came last, and let through where `y`, its result, is
// positive.
struct WantedGrads {
  Tensor* x = nullptr;
  Tensor* weight = nullptr;
  Tensor* bias = nullptr;
  Tensor* residual = nullptr;
};

// With xh = (x - mean) inv_std and means over a channel:
// x_grad = weight inv_std (g - mean(g) - xh mean(g xh)) + (shift + slope xh) /
// count. The sums of the means are the gradients of bias and weight. With
// `relu`, g is grad_out where xh weight + bias is positive, else 0.
void Grads(const Tensor& grad_out, const Tensor& x, const Tensor& weight,
           const Tensor& bias, const Tensor& mean, const Tensor& inv_std,
           const Tensor& shift, const Tensor& slope,
           std::string_view data_format, bool relu, const WantedGrads& wanted,
           const Tensor& y = Tensor()) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), grad = images.In(grad_out);
  const ChannelLayout l = LayoutOf(in, images.format());
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    constexpr DType kA = kDTypeOf<A>;
    const Tensor m = FloatCopy(mean, kA), r = FloatCopy(inv_std, kA);
    const Tensor w = FloatCopy(weight, kA), b = FloatCopy(bias, kA);
    const Tensor shifts = FloatCopy(shift, kA), slopes = FloatCopy(slope, kA);
    const Rows<double> sums(l, 2);
    const T* const px = in.data<T>();
    const auto sum = [&](const auto& g) {
      SumChannels<A>(l, sums[0], g, CenteredBy(g, px, m.data<A>()));
    };
    const auto write = [&](const auto& g) {
      if (wanted.x != nullptr)
        WriteInputGrad(l, g, px, DataOrNull<A>(w), m.data<A>(), r.data<A>(),
                       DataOrNull<A>(shifts), DataOrNull<A>(slopes), sums[0],
                       images.Out(*wanted.x).template data<T>());
    };
    const T* const __restrict pg = grad.data<T>();
    if (relu) {
      const Rows<A> rows(l, 2);
      A *const scale = rows[0], *const offset = rows[1];
      FindScaleAndShift(l, m.data<A>(), r.data<A>(), DataOrNull<A>(w),
                        DataOrNull<A>(b), scale, offset);
      const auto g = [=](int64_t c, int64_t i) {
        return WherePositive(static_cast<A>(px[i]) * scale[c] + offset[c],
                             static_cast<A>(pg[i]));
      };
      sum(g);
      write(g);
    } else if (wanted.residual != nullptr) {
      const Tensor result = images.In(y);
      const T* const __restrict py = result.data<T>();
      T* const let = images.Out(*wanted.residual).template data<T>();
      const auto g = [=](int64_t, int64_t i) { return static_cast<A>(let[i]); };
      SumChannels<A>(l, sums[0], g, CenteredBy(g, px, m.data<A>()),
                     [=](int64_t begin, int64_t end) {
                       LetThrough<T, A>(end - begin, py + begin, pg + begin,
                                        let + begin);
                     });
      write(g);
    } else {
      const auto g = [=](int64_t, int64_t i) { return static_cast<A>(pg[i]); };
      sum(g);
      write(g);
    }
    const Rows<A> rows(l, 2);
    for (int64_t c = 0; c < l.channels; ++c) {
      rows[0][c] = static_cast<A>(sums[1][c] * r.data<A>()[c]);
      rows[1][c] = static_cast<A>(sums[0][c]);
    }
    if (wanted.weight != nullptr) FloatCopyInto(rows.Row(0), *wanted.weight);
    if (wanted.bias != nullptr) FloatCopyInto(rows.Row(1), *wanted.bias);
  });
}

}  // namespace

void BatchNorm(const KernelContext& ctx, const Tensor& x,
               const Tensor& running_mean, const Tensor& running_var,
               const Tensor& weight, const Tensor& bias, double momentum,
               double epsilon, std::string_view data_format, Tensor* out,
               Tensor* running_mean_out, Tensor* running_var_out,
               Tensor* saved_mean, Tensor* saved_inv_std) {
  Train(x, running_mean, running_var, weight, bias, momentum, epsilon,
        data_format, {}, out, running_mean_out, running_var_out, saved_mean,
        saved_inv_std);
}

void BatchNormRelu(const KernelContext& ctx, const Tensor& x,
                   const Tensor& running_mean, const Tensor& running_var,
                   const Tensor& weight, const Tensor& bias, double momentum,
                   double epsilon, std::string_view data_format, Tensor* out,
                   Tensor* running_mean_out, Tensor* running_var_out,
                   Tensor* saved_mean, Tensor* saved_inv_std) {
  Train(x, running_mean, running_var, weight, bias, momentum, epsilon,
        data_format, {.relu = true}, out, running_mean_out, running_var_out,
        saved_mean, saved_inv_std);
}

void BatchNormAddRelu(const KernelContext& ctx, const Tensor& x,
                      const Tensor& residual, const Tensor& running_mean,
                      const Tensor& running_var, const Tensor& weight,
                      const Tensor& bias, double momentum, double epsilon,
                      std::string_view data_format, Tensor* out,
                      Tensor* running_mean_out, Tensor* running_var_out,
                      Tensor* saved_mean, Tensor* saved_inv_std) {
  Train(x, running_mean, running_var, weight, bias, momentum, epsilon,
        data_format, {.relu = true, .residual = residual}, out,
        running_mean_out, running_var_out, saved_mean, saved_inv_std);
}

void BatchNormAgain(const KernelContext& ctx, const Tensor& x,
                    const Tensor& mean, const Tensor& inv_std,
                    const Tensor& weight, const Tensor& bias, bool relu,
                    std::string_view data_format, Tensor* out) {
  Again(x, mean, inv_std, weight, bias, data_format, {.relu = relu}, out);
}

void BatchNormAddReluAgain(const KernelContext& ctx, const Tensor& x,
                           const Tensor& residual, const Tensor& mean,
                           const Tensor& inv_std, const Tensor& weight,
                           const Tensor& bias, std::string_view data_format,
                           Tensor* out) {
  Again(x, mean, inv_std, weight, bias, data_format,
        {.relu = true, .residual = residual}, out);
}

void BatchNormInference(const KernelContext& ctx, const Tensor& x,
                        const Tensor& mean, const Tensor& variance,
                        const Tensor& weight, const Tensor& bias,
                        double epsilon, std::string_view data_format,
                        Tensor* out) {
  Infer(x, mean, variance, weight, bias, epsilon, data_format, {}, out);
}

void BatchNormReluInference(const KernelContext& ctx, const Tensor& x,
                            const Tensor& mean, const Tensor& variance,
                            const Tensor& weight, const Tensor& bias,
                            double epsilon, std::string_view data_format,
                            Tensor* out) {
  Infer(x, mean, variance, weight, bias, epsilon, data_format, {.relu = true},
        out);
}

void BatchNormAddReluInference(const KernelContext& ctx, const Tensor& x,
                               const Tensor& residual, const Tensor& mean,
                               const Tensor& variance, const Tensor& weight,
                               const Tensor& bias, double epsilon,
                               std::string_view data_format, Tensor* out) {
  Infer(x, mean, variance, weight, bias, epsilon, data_format,
        {.relu = true, .residual = residual}, out);
}

void BatchNormReluGrad(const KernelContext& ctx, const Tensor& grad_out,
                       const Tensor& x, const Tensor& weight,
                       const Tensor& bias, const Tensor& mean,
                       const Tensor& inv_std, const Tensor& shift,
                       const Tensor& slope, std::string_view data_format,
                       Tensor* x_grad, Tensor* weight_grad, Tensor* bias_grad) {
  Grads(grad_out, x, weight, bias, mean, inv_std, shift, slope, data_format,
        true, {x_grad, weight_grad, bias_grad});
}

void BatchNormAddReluGrad(const KernelContext& ctx, const Tensor& grad_out,
                          const Tensor& y, const Tensor& x,
                          const Tensor& weight, const Tensor& mean,
                          const Tensor& inv_std, const Tensor& shift,
                          const Tensor& slope, std::string_view data_format,
                          Tensor* x_grad, Tensor* weight_grad,
                          Tensor* bias_grad, Tensor* residual_grad) {
  Grads(grad_out, x, weight, Tensor(), mean, inv_std, shift, slope, data_format,
        false, {x_grad, weight_grad, bias_grad, residual_grad}, y);
}

void BatchNormGrad(const KernelContext& ctx, const Tensor& grad_out,
                   const Tensor& x, const Tensor& weight, const Tensor& mean,
                   const Tensor& inv_std, const Tensor& shift,
                   const Tensor& slope, std::string_view data_format,
                   Tensor* x_grad, Tensor* weight_grad, Tensor* bias_grad) {
  Grads(grad_out, x, weight, Tensor(), mean, inv_std, shift, slope, data_format,
        false, {x_grad, weight_grad, bias_grad});
}

void BatchNormInputGrad(const KernelContext& ctx, const Tensor& grad_out,
                        const Tensor& x, const Tensor& weight,
                        const Tensor& mean, const Tensor& inv_std,
                        const Tensor& shift, const Tensor& slope,
                        std::string_view data_format, Tensor* x_grad) {
  Grads(grad_out, x, weight, Tensor(), mean, inv_std, shift, slope, data_format,
        false, {.x = x_grad});
}

void BatchNormWeightGrad(const KernelContext& ctx, const Tensor& grad_out,
                         const Tensor& x, const Tensor& mean,
                         const Tensor& inv_std, std::string_view data_format,
                         Tensor* weight_grad) {
  Grads(grad_out, x, Tensor(), Tensor(), mean, inv_std, Tensor(), Tensor(),
        data_format, false, {.weight = weight_grad});
}

}  // namespace proa::inline v0::ops::PROA_ISA
