// Kernels of cross_entropy.yaml.
#include "ops/nn/cross_entropy_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/floats_cuda.h"
#include "ops/nn/labels_cuda.cuh"
#include "ops/nn/softmax_rows_cuda.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

template <class C>
__device__ __forceinline__ C NotANumber() {
  return std::numeric_limits<C>::quiet_NaN();
}

template <class T>
struct HardLoss {
  using C = Compute<T>;
  using State = ExpSum<C>;
  static constexpr int kInputs = 1;
  static constexpr bool kElements = false;
  ClassLabels labels;

  __device__ __forceinline__ State Start() const { return State::Nothing(); }
  template <int V>
  __device__ __forceinline__ void Take(State* s, const C (&in)[1][V]) const {
    s->Take(in[0]);
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return a.Join(b);
  }
  __device__ __forceinline__ C Result(const State& s, int64_t line,
                                      const Memory<T>* x, int64_t step) const {
    const int64_t label = labels.At(line);
    if (label == kIgnoredLabel) return C(0);
    if (label == kNoClass) return NotANumber<C>();
    return (s.largest - Load<C>(x[label * step])) + log(s.sum);
  }
};

// The exponentials of logits, the sum of p, and that of p (x - shift), where p
// are the soft labels.
template <class C>
struct SoftState {
  ExpSum<C> exps;
  C total, dot;

  __device__ __forceinline__ C Shift() const {
    return ExpSum<C>::Shift(exps.largest);
  }
  __device__ __forceinline__ SoftState Join(SoftState o) const {
    SoftState all;
    all.exps = exps.Join(o.exps);
    const C shift = all.Shift();
    all.total = total + o.total;
    all.dot = (dot + total * (Shift() - shift)) +
              (o.dot + o.total * (o.Shift() - shift));
    return all;
  }
};

template <class T>
struct SoftLoss {
  using C = Compute<T>;
  using State = SoftState<C>;
  static constexpr int kInputs = 2;
  static constexpr bool kElements = false;

  __device__ __forceinline__ State Start() const {
    return {ExpSum<C>::Nothing(), C(0), C(0)};
  }
  template <int V>
  __device__ __forceinline__ void Take(State* s, const C (&in)[2][V]) const {
    const C before = s->Shift();
    s->exps.Take(in[0]);
    const C shift = s->Shift();
    s->dot += s->total * (before - shift);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      s->dot += in[1][k] * (in[0][k] - shift);
      s->total += in[1][k];
    }
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return a.Join(b);
  }
  __device__ __forceinline__ C Result(const State& s, int64_t, const Memory<T>*,
                                      int64_t) const {
    return s.total * log(s.exps.sum) - s.dot;
  }
};

template <class T>
struct HardGrad {
  using C = Compute<T>;
  using State = ExpSum<C>;
  static constexpr int kInputs = 1;
  static constexpr bool kElements = true;
  ClassLabels labels;
  const Memory<T>* grad_loss;
  struct Done {
    C largest, factor, scale;
    int64_t label;
  };

  __device__ __forceinline__ State Start() const { return State::Nothing(); }
  template <int V>
  __device__ __forceinline__ void Take(State* s, const C (&in)[1][V]) const {
    s->Take(in[0]);
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return a.Join(b);
  }
  __device__ __forceinline__ Done Finish(State s, int64_t line) const {
    const C scale = Load<C>(grad_loss[line]);
    return {s.largest, scale / s.sum, scale, labels.At(line)};
  }
  __device__ __forceinline__ C Write(const Done& d, const C (&in)[1], int64_t i,
                                     int64_t) const {
    if (d.label < 0) return d.label == kIgnoredLabel ? C(0) : NotANumber<C>();
    const C v = exp(in[0] - d.largest) * d.factor;
    return i == d.label ? v - d.scale : v;
  }
};

template <class T>
struct SoftGrad {
  using C = Compute<T>;
  static constexpr int kInputs = 2;
  static constexpr bool kElements = true;
  const Memory<T>* grad_loss;
  struct State {
    ExpSum<C> exps;
    C total;
  };
  struct Done {
    C largest, factor, scale;
  };

  __device__ __forceinline__ State Start() const {
    return {ExpSum<C>::Nothing(), C(0)};
  }
  template <int V>
  __device__ __forceinline__ void Take(State* s, const C (&in)[2][V]) const {
    s->exps.Take(in[0]);
#pragma unroll
    for (int k = 0; k < V; ++k) s->total += in[1][k];
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return {a.exps.Join(b.exps), a.total + b.total};
  }
  __device__ __forceinline__ Done Finish(State s, int64_t line) const {
    const C scale = Load<C>(grad_loss[line]);
    return {s.exps.largest, scale * s.total / s.exps.sum, scale};
  }
  __device__ __forceinline__ C Write(const Done& d, const C (&in)[2], int64_t,
                                     int64_t) const {
    return exp(in[0] - d.largest) * d.factor - in[1] * d.scale;
  }
};

constexpr int kThreads = 256;
uint32_t BlocksFor(int64_t n) {
  return static_cast<uint32_t>(std::min(CeilDiv(n, kThreads), kMostPositions));
}
__device__ __forceinline__ int64_t FirstOf() {
  return int64_t{blockIdx.x} * kThreads + threadIdx.x;
}
__device__ __forceinline__ int64_t StepOf() {
  return int64_t{gridDim.x} * kThreads;
}

template <class M>
__global__ void NllLossLines(const M* x, ClassLabels labels, const M* weight,
                             AxisLayout l, M* loss) {
  using C = std::conditional_t<sizeof(M) == 8, double, float>;
  const int64_t rows = l.outer * l.inner;
  for (int64_t r = FirstOf(); r < rows; r += StepOf()) {
    const int64_t c = labels.At(r);
    C v = c == kIgnoredLabel ? C(0) : NotANumber<C>();
    if (c >= 0) {
      v = -Load<C>(x[(r / l.inner * l.size + c) * l.inner + r % l.inner]);
      if (weight != nullptr) v *= Load<C>(weight[c]);
    }
    loss[r] = Store<M>(v);
  }
}

// Into zeros; each line has a place of its own.
template <class M>
__global__ void NllLossGradLines(const M* grad_loss, ClassLabels labels,
                                 const M* weight, AxisLayout l, M* x_grad) {
  using C = std::conditional_t<sizeof(M) == 8, double, float>;
  const int64_t rows = l.outer * l.inner;
  for (int64_t r = FirstOf(); r < rows; r += StepOf()) {
    const int64_t c = labels.At(r);
    if (c == kIgnoredLabel) continue;
    M* line = x_grad + r / l.inner * l.size * l.inner + r % l.inner;
    if (c == kNoClass) {
      for (int64_t k = 0; k < l.size; ++k) {
        line[k * l.inner] = Store<M>(NotANumber<C>());
      }
      continue;
    }
    C v = -Load<C>(grad_loss[r]);
    if (weight != nullptr) v *= Load<C>(weight[c]);
    line[c * l.inner] = Store<M>(v);
  }
}

template <class M>
__global__ void LabelWeights(ClassLabels labels, const M* weight, int64_t n,
                             M* out) {
  using C = std::conditional_t<sizeof(M) == 8, double, float>;
  for (int64_t i = FirstOf(); i < n; i += StepOf()) {
    const int64_t c = labels.At(i);
    out[i] = c >= 0 ? weight[c]
                    : Store<M>(c == kIgnoredLabel ? C(0) : NotANumber<C>());
  }
}

template <class M>
M* DataOrNull(const Tensor& t) {
  return t.defined() ? static_cast<M*>(t.raw_data()) : nullptr;
}

}  // namespace

void SoftmaxWithCrossEntropy(const KernelContext& ctx, const Tensor& logits,
                             const Tensor& label, bool soft_label,
                             int64_t ignore_index, int64_t axis, Tensor* loss) {
  const AxisLayout l = AxisLayoutOf(logits, axis);
  if (l.size == 0 && loss->numel() > 0) {
    CheckCuda(
        cudaMemsetAsync(loss->raw_data(), 0, static_cast<size_t>(loss->bytes()),
                        StreamOf(ctx)),
        "cudaMemsetAsync");
  }
  VisitFloat(logits.dtype(), [&]<class T>(Tag<T>) {
    if (soft_label) {
      AlongAxis<T>(ctx, SoftLoss<T>{}, l, loss, logits,
                   FloatsOf(label, logits.dtype()));
    } else {
      AlongAxis<T>(ctx,
                   HardLoss<T>{ClassLabels(ctx, "softmax_with_cross_entropy",
                                           label, axis, l.size, ignore_index)},
                   l, loss, logits);
    }
  });
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

void SoftmaxWithCrossEntropyGrad(const KernelContext& ctx,
                                 const Tensor& grad_loss, const Tensor& logits,
                                 const Tensor& label, bool soft_label,
                                 int64_t ignore_index, int64_t axis,
                                 Tensor* logits_grad) {
  const AxisLayout l = AxisLayoutOf(logits, axis);
  VisitFloat(logits.dtype(), [&]<class T>(Tag<T>) {
    const auto* g = static_cast<const Memory<T>*>(grad_loss.raw_data());
    if (soft_label) {
      AlongAxis<T>(ctx, SoftGrad<T>{g}, l, logits_grad, logits,
                   FloatsOf(label, logits.dtype()));
    } else {
      AlongAxis<T>(
          ctx,
          HardGrad<T>{ClassLabels(ctx, "softmax_with_cross_entropy_grad", label,
                                  axis, l.size, ignore_index),
                      g},
          l, logits_grad, logits);
    }
  });
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

void NllLoss(const KernelContext& ctx, const Tensor& x, const Tensor& label,
             const Tensor& weight, int64_t ignore_index, Tensor* loss) {
  const AxisLayout l = AxisLayoutOf(x, 1);
  const ClassLabels labels(ctx, "nll_loss", label, 1, l.size, ignore_index);
  if (l.rows() == 0) return;
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    const Tensor w = FloatsOf(weight, x.dtype());
    NllLossLines<<<BlocksFor(l.rows()), kThreads, 0, StreamOf(ctx)>>>(
        static_cast<const M*>(x.raw_data()), labels, DataOrNull<const M>(w), l,
        static_cast<M*>(loss->raw_data()));
  });
  CheckLaunch("nll_loss");
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

void NllLossGrad(const KernelContext& ctx, const Tensor& grad_loss,
                 const Tensor& label, const Tensor& weight,
                 const IntArray& x_shape, int64_t ignore_index,
                 Tensor* x_grad) {
  const AxisLayout l = AxisLayoutOf(*x_grad, 1);
  const ClassLabels labels(ctx, "nll_loss_grad", label, 1, l.size,
                           ignore_index);
  if (x_grad->numel() == 0) return;
  const cudaStream_t stream = StreamOf(ctx);
  CheckCuda(cudaMemsetAsync(x_grad->raw_data(), 0,
                            static_cast<size_t>(x_grad->bytes()), stream),
            "cudaMemsetAsync");
  VisitFloat(x_grad->dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    const Tensor w = FloatsOf(weight, x_grad->dtype());
    NllLossGradLines<<<BlocksFor(l.rows()), kThreads, 0, stream>>>(
        static_cast<const M*>(grad_loss.raw_data()), labels,
        DataOrNull<const M>(w), l, static_cast<M*>(x_grad->raw_data()));
  });
  CheckLaunch("nll_loss_grad");
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

void NllLossWeight(const KernelContext& ctx, const Tensor& label,
                   const Tensor& weight, int64_t ignore_index, Tensor* out) {
  const ClassLabels labels(ctx, "nll_loss_weight", label, 0, weight.numel(),
                           ignore_index);
  const int64_t n = label.numel();
  if (!IsFloat(weight.dtype())) RefuseNotFloat(weight.dtype());
  if (n == 0) return;
  VisitFloat(weight.dtype(), [&]<class T>(Tag<T>) {
    using M = Memory<T>;
    LabelWeights<<<BlocksFor(n), kThreads, 0, StreamOf(ctx)>>>(
        labels, static_cast<const M*>(weight.raw_data()), n,
        static_cast<M*>(out->raw_data()));
  });
  CheckLaunch("nll_loss_weight");
  ThrowCudaFaultOfLaunch(ctx.place.index);
}

}  // namespace proa::inline v0::ops::cuda
