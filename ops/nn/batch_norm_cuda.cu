// Forward kernels of batch_norm.yaml and batch_norm_relu.yaml. x is read once
// for the statistics and once for the result.
#include "ops/nn/batch_norm_affine_cuda.cuh"
#include "ops/nn/batch_norm_kernels.h"
#include "ops/nn/batch_norm_relu_kernels.h"
#include "ops/nn/channels_cuda.cuh"
#include "ops/nn/floats_cuda.h"
#include "ops/nn/images.h"

namespace proa::inline v0::ops::cuda {
namespace {

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

}  // namespace proa::inline v0::ops::cuda
