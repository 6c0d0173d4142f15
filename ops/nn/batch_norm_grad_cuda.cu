// Gradients of batch_norm.yaml and batch_norm_relu.yaml: x and grad_out are
// read once for the sums and once for the gradient of x.
#include "ops/nn/batch_norm_affine_cuda.cuh"
#include "ops/nn/batch_norm_kernels.h"
#include "ops/nn/batch_norm_relu_kernels.h"
#include "ops/nn/channels_cuda.cuh"
#include "ops/nn/floats_cuda.h"
#include "ops/nn/images.h"

namespace proa::inline v0::ops::cuda {
namespace {

// Which elements of grad_out count.
enum class Through { kAll, kPositive, kPositiveResult };

// Sums of g and g (x - mean), where g is grad_out, or: of kPositive, where
// x * scale + shift is positive, else 0; of kPositiveResult, where y is
// positive, else 0, and written to `let_through`.
template <class T, Through kThrough>
struct GradSums {
  using C = Compute<T>;
  using M = Memory<T>;
  const M* x;
  const M* grad_out;
  const M* y;
  M* let_through;
  const C* means;
  const Affine<C>* affine;
  struct Channel {
    C mean;
    Affine<C> affine;
  };

  __device__ __forceinline__ Channel At(int64_t c, const Channels&) const {
    if (kThrough != Through::kPositive) return {means[c], {C(1), C(0)}};
    return {means[c], affine[c]};
  }
  template <int V, int N>
  __device__ __forceinline__ void Take(const Channel (&channel)[N],
                                       int64_t offset, C (&a)[V],
                                       C (&b)[V]) const {
    C v[V], g[V];
    ReadPack(x + offset, v);
    ReadPack(grad_out + offset, g);
    if constexpr (kThrough == Through::kPositiveResult) {
      C result[V];
      ReadPack(y + offset, result);
#pragma unroll
      for (int k = 0; k < V; ++k) g[k] = result[k] > C(0) ? g[k] : C(0);
      WritePack<M, V>(let_through + offset, g);
    }
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const Channel& of = channel[k % N];
      if (kThrough == Through::kPositive) {
        g[k] = v[k] * of.affine.scale + of.affine.shift > C(0) ? g[k] : C(0);
      }
      a[k] += g[k];
      b[k] += g[k] * (v[k] - of.mean);
    }
  }
};

// x_grad = by_g * g + by_x * (x - mean) + rest
template <class C>
struct GradFactors {
  C by_g, by_x, rest, mean;
};

template <class T>
struct FinishGrads {
  using C = Compute<T>;
  Channels l;
  const C* means;
  const Affine<C>* affine;
  FloatArray inv_std, shift, slope;
  GradFactors<C>* factors;
  FloatOut weight_grad, bias_grad;

  __device__ __forceinline__ void operator()(int64_t c,
                                             TwoSums<double> sums) const {
    const int64_t n = l.count();
    const double count = n > 0 ? static_cast<double>(n) : 1.0;
    const C r = inv_std.At(c, C(1));
    const double a = affine[c].scale;
    const double by_x =
        (-a * r * r * sums.b + static_cast<double>(slope.At(c, C(0))) * r) /
        count;
    const double rest =
        (-a * sums.a + static_cast<double>(shift.At(c, C(0)))) / count;
    factors[c] = {affine[c].scale, static_cast<C>(by_x), static_cast<C>(rest),
                  means[c]};
    weight_grad.Write(c, static_cast<C>(sums.b * r));
    bias_grad.Write(c, static_cast<C>(sums.a));
  }
};

template <class T>
struct InputGrad {
  using C = Compute<T>;
  using M = Memory<T>;
  const M* x;
  const M* g;
  const Affine<C>* positive;  // or null: all of g counts
  const GradFactors<C>* factors;
  M* x_grad;

  template <int V>
  __device__ __forceinline__ void Write(int64_t c, int step,
                                        int64_t offset) const {
    C v[V], d[V];
    ReadPack(x + offset, v);
    ReadPack(g + offset, d);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const GradFactors<C> f = factors[c + k * step];
      if (positive != nullptr) {
        const Affine<C> y = positive[c + k * step];
        d[k] = v[k] * y.scale + y.shift > C(0) ? d[k] : C(0);
      }
      v[k] = f.by_g * d[k] + f.by_x * (v[k] - f.mean) + f.rest;
    }
    WritePack<M, V>(x_grad + offset, v);
  }
};

// The gradients of batch normalization; null for those not wanted. With that of
// a residual relu came last, and let through where `y`, its result, is
// positive.
struct WantedGrads {
  Tensor* x = nullptr;
  Tensor* weight = nullptr;
  Tensor* bias = nullptr;
  Tensor* residual = nullptr;
};

// As on the CPU (batch_norm_cpu.cc). With `relu`, g is grad_out where xh weight
// + bias is positive, else 0.
void Grads(const KernelContext& ctx, const Tensor& grad_out, const Tensor& x,
           const Tensor& weight, const Tensor& bias, const Tensor& mean,
           const Tensor& inv_std, const Tensor& shift, const Tensor& slope,
           std::string_view data_format, bool relu, const WantedGrads& wanted,
           const Tensor& y = Tensor()) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), grad = images.In(grad_out);
  const Channels l = ChannelsOf(in, images.format());
  const Tensor m = AnyFloatsOf(mean), r = AnyFloatsOf(inv_std);
  const Tensor w = AnyFloatsOf(weight), b = AnyFloatsOf(bias);
  const Tensor shifts = AnyFloatsOf(shift), slopes = AnyFloatsOf(slope);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    using C = Compute<T>;
    const auto* px = static_cast<const M*>(in.raw_data());
    const auto* pg = static_cast<const M*>(grad.raw_data());
    if (l.channels == 0) return;
    const Workspace memory(
        ctx, l.channels * static_cast<int64_t>(sizeof(GradFactors<C>) +
                                               sizeof(Affine<C>) + sizeof(C)));
    auto* factors = memory.as<GradFactors<C>>();
    auto* affine = reinterpret_cast<Affine<C>*>(factors + l.channels);
    auto* means = reinterpret_cast<C*>(affine + l.channels);
    FindAffine<C><<<static_cast<uint32_t>(CeilDiv(l.channels, 128)), 128, 0,
                    StreamOf(ctx)>>>(FloatArray(m), FloatArray(r), false, C(0),
                                     FloatArray(w), FloatArray(b), l.channels,
                                     affine, means);
    CheckLaunch("batch_norm");
    const FinishGrads<T> finish = {l,
                                   means,
                                   affine,
                                   FloatArray(r),
                                   FloatArray(shifts),
                                   FloatArray(slopes),
                                   factors,
                                   FloatOut(wanted.weight),
                                   FloatOut(wanted.bias)};
    const auto sum = [&]<Through kThrough>(const M* py, M* let) {
      SumChannels<M, C>(ctx, l, Aligned16({px, pg, py, let}),
                        GradSums<T, kThrough>{px, pg, py, let, means, affine},
                        finish);
    };
    if (wanted.residual != nullptr) {
      const Tensor result = images.In(y), let = images.Out(*wanted.residual);
      auto* through = static_cast<M*>(let.raw_data());
      sum.template operator()<Through::kPositiveResult>(
          static_cast<const M*>(result.raw_data()), through);
      pg = through;
    } else if (relu) {
      sum.template operator()<Through::kPositive>(nullptr, nullptr);
    } else {
      sum.template operator()<Through::kAll>(nullptr, nullptr);
    }
    if (wanted.x == nullptr) return;
    const Tensor to = images.Out(*wanted.x);
    auto* px_grad = static_cast<M*>(to.raw_data());
    WriteChannels<M>(
        ctx, l, Aligned16({px, pg, px_grad}),
        InputGrad<T>{px, pg, relu ? affine : nullptr, factors, px_grad});
  });
}

}  // namespace

void BatchNormReluGrad(const KernelContext& ctx, const Tensor& grad_out,
                       const Tensor& x, const Tensor& weight,
                       const Tensor& bias, const Tensor& mean,
                       const Tensor& inv_std, const Tensor& shift,
                       const Tensor& slope, std::string_view data_format,
                       Tensor* x_grad, Tensor* weight_grad, Tensor* bias_grad) {
  Grads(ctx, grad_out, x, weight, bias, mean, inv_std, shift, slope,
        data_format, true, {x_grad, weight_grad, bias_grad});
}

void BatchNormAddReluGrad(const KernelContext& ctx, const Tensor& grad_out,
                          const Tensor& y, const Tensor& x,
                          const Tensor& weight, const Tensor& mean,
                          const Tensor& inv_std, const Tensor& shift,
                          const Tensor& slope, std::string_view data_format,
                          Tensor* x_grad, Tensor* weight_grad,
                          Tensor* bias_grad, Tensor* residual_grad) {
  Grads(ctx, grad_out, x, weight, Tensor(), mean, inv_std, shift, slope,
        data_format, false, {x_grad, weight_grad, bias_grad, residual_grad}, y);
}

void BatchNormGrad(const KernelContext& ctx, const Tensor& grad_out,
                   const Tensor& x, const Tensor& weight, const Tensor& mean,
                   const Tensor& inv_std, const Tensor& shift,
                   const Tensor& slope, std::string_view data_format,
                   Tensor* x_grad, Tensor* weight_grad, Tensor* bias_grad) {
  Grads(ctx, grad_out, x, weight, Tensor(), mean, inv_std, shift, slope,
        data_format, false, {x_grad, weight_grad, bias_grad});
}

void BatchNormInputGrad(const KernelContext& ctx, const Tensor& grad_out,
                        const Tensor& x, const Tensor& weight,
                        const Tensor& mean, const Tensor& inv_std,
                        const Tensor& shift, const Tensor& slope,
                        std::string_view data_format, Tensor* x_grad) {
  Grads(ctx, grad_out, x, weight, Tensor(), mean, inv_std, shift, slope,
        data_format, false, {.x = x_grad});
}

void BatchNormWeightGrad(const KernelContext& ctx, const Tensor& grad_out,
                         const Tensor& x, const Tensor& mean,
                         const Tensor& inv_std, std::string_view data_format,
                         Tensor* weight_grad) {
  Grads(ctx, grad_out, x, Tensor(), Tensor(), mean, inv_std, Tensor(), Tensor(),
        data_format, false, {.weight = weight_grad});
}

}  // namespace proa::inline v0::ops::cuda
