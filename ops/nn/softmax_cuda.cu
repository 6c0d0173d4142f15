// Kernels of softmax.yaml: each element is read from memory once where a line
// fits into the registers of its group of threads.
#include "ops/indexing/image_axis.h"
#include "ops/nn/softmax_kernels.h"
#include "ops/nn/softmax_rows_cuda.cuh"

namespace proa::inline v0::ops::cuda {
namespace {

template <class T, bool kLog>
struct SoftmaxOf {
  using C = Compute<T>;
  using State = ExpSum<C>;
  static constexpr int kInputs = 1;
  static constexpr bool kElements = true;

  __device__ __forceinline__ State Start() const { return State::Nothing(); }
  template <int V>
  __device__ __forceinline__ void Take(State* s, const C (&in)[1][V]) const {
    s->Take(in[0]);
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return a.Join(b);
  }
  __device__ __forceinline__ State Finish(State s, int64_t) const {
    return {s.largest, kLog ? log(s.sum) : C(1) / s.sum};
  }
  __device__ __forceinline__ C Write(const State& s, const C (&in)[1], int64_t,
                                     int64_t) const {
    if constexpr (kLog) {
      return (in[0] - s.largest) - s.sum;
    } else {
      return exp(in[0] - s.largest) * s.sum;
    }
  }
};

// Inputs: the result of the forward op, and the gradient.
template <class T, bool kLog>
struct GradOf {
  using C = Compute<T>;
  using State = C;
  static constexpr int kInputs = 2;
  static constexpr bool kElements = true;

  __device__ __forceinline__ State Start() const { return C(0); }
  template <int V>
  __device__ __forceinline__ void Take(State* s, const C (&in)[2][V]) const {
#pragma unroll
    for (int k = 0; k < V; ++k) *s += kLog ? in[1][k] : in[0][k] * in[1][k];
  }
  __device__ __forceinline__ State Join(State a, State b) const {
    return a + b;
  }
  __device__ __forceinline__ State Finish(State s, int64_t) const { return s; }
  __device__ __forceinline__ C Write(const State& s, const C (&in)[2], int64_t,
                                     int64_t) const {
    if constexpr (kLog) {
      return in[1] - exp(in[0]) * s;
    } else {
      return (in[1] - s) * in[0];
    }
  }
};

}  // namespace

void Softmax(const KernelContext& ctx, const Tensor& x, int64_t axis,
             Tensor* out) {
  auto a = InOneOrder(x, *out, axis);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    AlongAxis<T>(ctx, SoftmaxOf<T, false>{}, AxisLayoutOf(a.x, a.axis), &a.out,
                 a.x);
  });
}

void LogSoftmax(const KernelContext& ctx, const Tensor& x, int64_t axis,
                Tensor* out) {
  auto a = InOneOrder(x, *out, axis);
  VisitFloat(x.dtype(), [&]<class T>(Tag<T>) {
    AlongAxis<T>(ctx, SoftmaxOf<T, true>{}, AxisLayoutOf(a.x, a.axis), &a.out,
                 a.x);
  });
}

void SoftmaxGrad(const KernelContext& ctx, const Tensor& out,
                 const Tensor& grad_out, int64_t axis, Tensor* x_grad) {
  auto y = InOneOrder(out, *x_grad, axis);
  const auto g = InOneOrder(grad_out, *x_grad, axis);
  VisitFloat(x_grad->dtype(), [&]<class T>(Tag<T>) {
    AlongAxis<T>(ctx, GradOf<T, false>{}, AxisLayoutOf(y.x, y.axis), &y.out,
                 y.x, g.x);
  });
}

void LogSoftmaxGrad(const KernelContext& ctx, const Tensor& out,
                    const Tensor& grad_out, int64_t axis, Tensor* x_grad) {
  auto y = InOneOrder(out, *x_grad, axis);
  const auto g = InOneOrder(grad_out, *x_grad, axis);
  VisitFloat(x_grad->dtype(), [&]<class T>(Tag<T>) {
    AlongAxis<T>(ctx, GradOf<T, true>{}, AxisLayoutOf(y.x, y.axis), &y.out, y.x,
                 g.x);
  });
}

}  // namespace proa::inline v0::ops::cuda
