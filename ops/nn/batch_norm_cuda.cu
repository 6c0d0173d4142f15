// Kernels of batch_norm.yaml and batch_norm_relu.yaml. x is read once for the
// statistics and once for the result.
#include "ops/nn/batch_norm_kernels.h"
#include "ops/nn/batch_norm_relu_kernels.h"
#include "ops/nn/channels_cuda.cuh"
#include "ops/nn/floats_cuda.h"
#include "ops/nn/images.h"

namespace proa::inline v0::ops::cuda {
namespace {

template <class C, int V, class M>
__device__ __forceinline__ void ReadPack(const M* from, C (&to)[V]) {
  const auto pack = *reinterpret_cast<const Pack<M, V>*>(from);
#pragma unroll
  for (int k = 0; k < V; ++k) to[k] = Load<C>(pack.v[k]);
}

// Something near the values of a channel: its first one. Sums of squares of
// differences from it lose nothing to cancellation.
template <class C, class M>
__device__ __forceinline__ C PivotOf(const M* x, int64_t c, const Channels& l) {
  if (l.count() == 0) return C(0);
  const C first = Load<C>(x[l.last ? c : c * l.inner]);
  return first - first == C(0) ? first : C(0);
}

template <class T>
struct Deviations {
  using C = Compute<T>;
  const Memory<T>* x;
  struct Channel {
    C pivot;
  };

  __device__ __forceinline__ Channel At(int64_t c, const Channels& l) const {
    return {PivotOf<C>(x, c, l)};
  }
  template <int V, int N>
  __device__ __forceinline__ void Take(const Channel (&channel)[N],
                                       int64_t offset, C (&a)[V],
                                       C (&b)[V]) const {
    C v[V];
    ReadPack(x + offset, v);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const C d = v[k] - channel[k % N].pivot;
      a[k] += d;
      b[k] += d * d;
    }
  }
};

// Elements of a floating tensor of any dtype, to be written.
struct FloatOut {
  char* data = nullptr;
  DType dtype = DType::kFloat32;

  FloatOut() = default;
  explicit FloatOut(const Tensor* t) {
    if (t == nullptr) return;
    data = static_cast<char*>(t->raw_data());
    dtype = t->dtype();
  }
  template <class V>
  __device__ __forceinline__ void Write(int64_t i, V v) const {
    if (data != nullptr) StoreAs(dtype, data, i, v);
  }
};

// scale and shift, so that x * scale + shift is what was normalized.
template <class C>
struct Affine {
  C scale, shift;
};
template <class C>
__device__ __forceinline__ Affine<C> AffineOf(int64_t c, C mean, C inv_std,
                                              const FloatArray& weight,
                                              const FloatArray& bias) {
  const C scale = inv_std * weight.At(c, C(1));
  return {scale, bias.At(c, C(0)) - mean * scale};
}

template <class T>
struct FinishStatistics {
  using C = Compute<T>;
  const Memory<T>* x;
  Channels l;
  FloatArray running_mean, running_var, weight, bias;
  C momentum, epsilon;
  Affine<C>* affine;
  FloatOut running_mean_out, running_var_out, saved_mean, saved_inv_std;

  __device__ __forceinline__ void operator()(int64_t c,
                                             TwoSums<double> sums) const {
    const int64_t n = l.count();
    const double count = n > 0 ? static_cast<double>(n) : 1.0;
    // An empty batch says nothing about the statistics.
    const C keep = n == 0 ? C(1) : momentum;
    const double off = sums.a / count;
    const double spread = sums.b / count - off * off;
    const C mean =
        static_cast<C>(static_cast<double>(PivotOf<C>(x, c, l)) + off);
    // Rounding may leave a little below zero; NaN stays.
    const C variance = spread < 0 ? C(0) : static_cast<C>(spread);
    const C inv_std = C(1) / sqrt(variance + epsilon);
    const C old_mean = running_mean.At(c, C(0));
    const C old_var = running_var.At(c, C(0));
    running_mean_out.Write(c, old_mean * keep + mean * (C(1) - keep));
    running_var_out.Write(c, old_var * keep + variance * (C(1) - keep));
    saved_mean.Write(c, mean);
    saved_inv_std.Write(c, inv_std);
    affine[c] = AffineOf(c, mean, inv_std, weight, bias);
  }
};

// `spread` is the variance, or 1 / standard deviation; `means` may be null.
template <class C>
__global__ void FindAffine(FloatArray mean, FloatArray spread, bool is_variance,
                           C epsilon, FloatArray weight, FloatArray bias,
                           int64_t channels, Affine<C>* affine, C* means) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  const C s = spread.At(c, C(1)), m = mean.At(c, C(0));
  affine[c] =
      AffineOf(c, m, is_variance ? C(1) / sqrt(s + epsilon) : s, weight, bias);
  if (means != nullptr) means[c] = m;
}

// x * scale + shift and what comes after it: a residual is added, negative
// values become 0 (NaN stays).
template <class T>
struct Normalized {
  using C = Compute<T>;
  const Memory<T>* x;
  const Memory<T>* residual;
  const Affine<C>* affine;
  bool relu;
  Memory<T>* out;

  template <int V>
  __device__ __forceinline__ void Write(int64_t c, int step,
                                        int64_t offset) const {
    C v[V], r[V] = {};
    ReadPack(x + offset, v);
    if (residual != nullptr) ReadPack(residual + offset, r);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const Affine<C> f = affine[c + k * step];
      v[k] = v[k] * f.scale + f.shift + r[k];
      if (relu && v[k] < C(0)) v[k] = C(0);
    }
    WritePack<Memory<T>, V>(out + offset, v);
  }
};

// What follows the normalization in the same pass.
struct After {
  bool relu = false;
  Tensor residual = {};
};

// Images as they lie, for a kernel of element type T.
template <class T>
void Write(const KernelContext& ctx, const Channels& l, const Images& images,
           const Tensor& in, const After& after, const Tensor& result,
           const Affine<Compute<T>>* affine) {
  using M = Memory<T>;
  const Tensor residual =
      after.residual.defined() ? images.In(after.residual) : Tensor();
  const void* r = residual.defined() ? residual.raw_data() : nullptr;
  WriteChannels<M>(ctx, l, Aligned16({in.raw_data(), result.raw_data(), r}),
                   Normalized<T>{static_cast<const M*>(in.raw_data()),
                                 static_cast<const M*>(r), affine, after.relu,
                                 static_cast<M*>(result.raw_data())});
}

void Train(const KernelContext& ctx, const Tensor& x,
           const Tensor& running_mean, const Tensor& running_var,
           const Tensor& weight, const Tensor& bias, double momentum,
           double epsilon, std::string_view data_format, const After& after,
           Tensor* out, Tensor* running_mean_out, Tensor* running_var_out,
           Tensor* saved_mean, Tensor* saved_inv_std) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), result = images.Out(*out);
  const Channels l = ChannelsOf(in, images.format());
  const Tensor old_mean = AnyFloatsOf(running_mean);
  const Tensor old_var = AnyFloatsOf(running_var);
  const Tensor w = AnyFloatsOf(weight), b = AnyFloatsOf(bias);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    using C = Compute<T>;
    const auto* px = static_cast<const M*>(in.raw_data());
    const Workspace affine(
        ctx, l.channels * static_cast<int64_t>(sizeof(Affine<C>)));
    SumChannels<M, C>(
        ctx, l, Aligned16({px}), Deviations<T>{px},
        FinishStatistics<T>{px, l, FloatArray(old_mean), FloatArray(old_var),
                            FloatArray(w), FloatArray(b),
                            static_cast<C>(momentum), static_cast<C>(epsilon),
                            affine.as<Affine<C>>(), FloatOut(running_mean_out),
                            FloatOut(running_var_out), FloatOut(saved_mean),
                            FloatOut(saved_inv_std)});
    Write<T>(ctx, l, images, in, after, result, affine.as<Affine<C>>());
  });
}

// From statistics that are given.
void Normalize(const KernelContext& ctx, const Tensor& x, const Tensor& mean,
               const Tensor& spread, bool is_variance, double epsilon,
               const Tensor& weight, const Tensor& bias,
               std::string_view data_format, const After& after, Tensor* out) {
  const Images images(x, data_format);
  const Tensor in = images.In(x), result = images.Out(*out);
  const Channels l = ChannelsOf(in, images.format());
  if (l.numel() == 0) return;
  const Tensor m = AnyFloatsOf(mean), s = AnyFloatsOf(spread);
  const Tensor w = AnyFloatsOf(weight), b = AnyFloatsOf(bias);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using C = Compute<T>;
    const Workspace affine(
        ctx, l.channels * static_cast<int64_t>(sizeof(Affine<C>)));
    FindAffine<C><<<static_cast<uint32_t>(CeilDiv(l.channels, 128)), 128, 0,
                    StreamOf(ctx)>>>(FloatArray(m), FloatArray(s), is_variance,
                                     static_cast<C>(epsilon), FloatArray(w),
                                     FloatArray(b), l.channels,
                                     affine.as<Affine<C>>(), nullptr);
    CheckLaunch("batch_norm");
    Write<T>(ctx, l, images, in, after, result, affine.as<Affine<C>>());
  });
}

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

void BatchNorm(const KernelContext& ctx, const Tensor& x,
               const Tensor& running_mean, const Tensor& running_var,
               const Tensor& weight, const Tensor& bias, double momentum,
               double epsilon, std::string_view data_format, Tensor* out,
               Tensor* running_mean_out, Tensor* running_var_out,
               Tensor* saved_mean, Tensor* saved_inv_std) {
  Train(ctx, x, running_mean, running_var, weight, bias, momentum, epsilon,
        data_format, {}, out, running_mean_out, running_var_out, saved_mean,
        saved_inv_std);
}

void BatchNormRelu(const KernelContext& ctx, const Tensor& x,
                   const Tensor& running_mean, const Tensor& running_var,
                   const Tensor& weight, const Tensor& bias, double momentum,
                   double epsilon, std::string_view data_format, Tensor* out,
                   Tensor* running_mean_out, Tensor* running_var_out,
                   Tensor* saved_mean, Tensor* saved_inv_std) {
  Train(ctx, x, running_mean, running_var, weight, bias, momentum, epsilon,
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
  Train(ctx, x, running_mean, running_var, weight, bias, momentum, epsilon,
        data_format, {.relu = true, .residual = residual}, out,
        running_mean_out, running_var_out, saved_mean, saved_inv_std);
}

void BatchNormAgain(const KernelContext& ctx, const Tensor& x,
                    const Tensor& mean, const Tensor& inv_std,
                    const Tensor& weight, const Tensor& bias, bool relu,
                    std::string_view data_format, Tensor* out) {
  Normalize(ctx, x, mean, inv_std, false, 0, weight, bias, data_format,
            {.relu = relu}, out);
}

void BatchNormAddReluAgain(const KernelContext& ctx, const Tensor& x,
                           const Tensor& residual, const Tensor& mean,
                           const Tensor& inv_std, const Tensor& weight,
                           const Tensor& bias, std::string_view data_format,
                           Tensor* out) {
  Normalize(ctx, x, mean, inv_std, false, 0, weight, bias, data_format,
            {.relu = true, .residual = residual}, out);
}

void BatchNormInference(const KernelContext& ctx, const Tensor& x,
                        const Tensor& mean, const Tensor& variance,
                        const Tensor& weight, const Tensor& bias,
                        double epsilon, std::string_view data_format,
                        Tensor* out) {
  Normalize(ctx, x, mean, variance, true, epsilon, weight, bias, data_format,
            {}, out);
}

void BatchNormReluInference(const KernelContext& ctx, const Tensor& x,
                            const Tensor& mean, const Tensor& variance,
                            const Tensor& weight, const Tensor& bias,
                            double epsilon, std::string_view data_format,
                            Tensor* out) {
  Normalize(ctx, x, mean, variance, true, epsilon, weight, bias, data_format,
            {.relu = true}, out);
}

void BatchNormAddReluInference(const KernelContext& ctx, const Tensor& x,
                               const Tensor& residual, const Tensor& mean,
                               const Tensor& variance, const Tensor& weight,
                               const Tensor& bias, double epsilon,
                               std::string_view data_format, Tensor* out) {
  Normalize(ctx, x, mean, variance, true, epsilon, weight, bias, data_format,
            {.relu = true, .residual = residual}, out);
}

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
