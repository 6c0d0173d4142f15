// Kernels of layer normalization, compiled once per instruction set. A row is
// the part of x that is normalized together; its statistics are computed again
// in the gradients, from cache, rather than kept.
#include <cstring>
#include <optional>
#include <vector>

#include "ops/nn/layer_norm_kernels.h"
#include "ops/nn/row_loops.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// Rows of x [rows, size] with the dims from begin_axis on in a row.
AxisLayout Rows(const Tensor& x, int64_t begin_axis) {
  AxisLayout l;
  const int at =
      static_cast<int>(begin_axis < 0 ? begin_axis + x.rank() : begin_axis);
  for (int d = 0; d < at; ++d) l.outer *= x.size(d);
  for (int d = at; d < x.rank(); ++d) l.size *= x.size(d);
  return l;
}

template <typename A>
struct Moments {
  A mean, inv_std;
};

template <typename A>
Moments<A> MomentsOf(const A* x, int64_t n, A epsilon) {
  const A mean =
      SumOver<A>(n, [&](int64_t i) { return x[i]; }) / static_cast<A>(n);
  const A variance = SumOver<A>(n,
                                [&](int64_t i) {
                                  const A d = x[i] - mean;
                                  return d * d;
                                }) /
                     static_cast<A>(n);
  return {mean, A(1) / std::sqrt(variance + epsilon)};
}

}  // namespace

void LayerNorm(const KernelContext& ctx, const Tensor& x, const Tensor& weight,
               const Tensor& bias, int64_t begin_axis, double epsilon,
               Tensor* out) {
  const AxisLayout l = Rows(x, begin_axis);
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Tensor w = FloatCopy(weight, kDTypeOf<A>);
    const Tensor b = FloatCopy(bias, kDTypeOf<A>);
    const A* pw = w.defined() ? w.data<A>() : nullptr;
    const A* pb = b.defined() ? b.data<A>() : nullptr;
    ForEachRow<T, 1>(l, {x.data<T>()}, out->data<T>(),
                     [&](int64_t, const auto& in, A* to) {
                       const A* v = in[0];
                       const auto [mean, inv_std] =
                           MomentsOf(v, l.size, static_cast<A>(epsilon));
                       for (int64_t i = 0; i < l.size; ++i)
                         to[i] = (v[i] - mean) * inv_std;
                       if (pw != nullptr)
                         for (int64_t i = 0; i < l.size; ++i) to[i] *= pw[i];
                       if (pb != nullptr)
                         for (int64_t i = 0; i < l.size; ++i) to[i] += pb[i];
                     });
  });
}

// With h = grad_out * weight and xh the normalized row:
// x_grad = inv_std * (h - mean(h) - xh * mean(h * xh)).
void LayerNormInputGrad(const KernelContext& ctx, const Tensor& grad_out,
                        const Tensor& x, const Tensor& weight,
                        int64_t begin_axis, double epsilon, Tensor* x_grad) {
  const AxisLayout l = Rows(x, begin_axis);
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Tensor w = FloatCopy(weight, kDTypeOf<A>);
    const A* pw = w.defined() ? w.data<A>() : nullptr;
    const A n = static_cast<A>(l.size);
    ForEachRow<T, 2>(
        l, {grad_out.data<T>(), x.data<T>()}, x_grad->data<T>(),
        [&](int64_t, const auto& in, A* to) {
          const A* g = in[0];
          const A* v = in[1];
          const auto [mean, inv_std] =
              MomentsOf(v, l.size, static_cast<A>(epsilon));
          for (int64_t i = 0; i < l.size; ++i)
            to[i] = pw != nullptr ? g[i] * pw[i] : g[i];
          const A mean_h =
              SumOver<A>(l.size, [&](int64_t i) { return to[i]; }) / n;
          const A mean_hx =
              SumOver<A>(l.size,
                         [&](int64_t i) { return to[i] * (v[i] - mean); }) *
              inv_std / n;
          for (int64_t i = 0; i < l.size; ++i) {
            const A xh = (v[i] - mean) * inv_std;
            to[i] = inv_std * (to[i] - mean_h - xh * mean_hx);
          }
        });
  });
}

// Sum over rows of grad_out * xh. Rows go in chunks whose number depends on the
// shape only; each has a partial sum, added up in order.
void LayerNormWeightGrad(const KernelContext& ctx, const Tensor& grad_out,
                         const Tensor& x, int64_t begin_axis, double epsilon,
                         std::optional<DType>, Tensor* weight_grad) {
  const AxisLayout l = Rows(x, begin_axis);
  if (l.size == 0) return;
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const int64_t chunk =
        std::max<int64_t>({1, (l.outer + 31) / 32, 8192 / l.size});
    const int64_t chunks = (l.outer + chunk - 1) / chunk;
    std::vector<A> partial(std::max<int64_t>(chunks, 1) * l.size);
    parallel_chunks(l.outer, chunk, [&](int64_t k, int64_t begin, int64_t end) {
      A* sums = partial.data() + k * l.size;
      const RowBuffer<A> buffer(std::is_same_v<T, A> ? 0 : 2, l.size);
      for (int64_t r = begin; r < end; ++r) {
        const A* v = Widened(x.data<T>() + r * l.size, l.size, buffer[0]);
        const A* g =
            Widened(grad_out.data<T>() + r * l.size, l.size, buffer[1]);
        const auto [mean, inv_std] =
            MomentsOf(v, l.size, static_cast<A>(epsilon));
        for (int64_t i = 0; i < l.size; ++i)
          sums[i] += g[i] * ((v[i] - mean) * inv_std);
      }
    });
    for (int64_t k = 1; k < chunks; ++k)
      for (int64_t i = 0; i < l.size; ++i)
        partial[i] += partial[k * l.size + i];
    const auto write = [&]<typename R>(R* to) {
      for (int64_t i = 0; i < l.size; ++i) to[i] = R(partial[i]);
    };
    if (weight_grad->dtype() == kDTypeOf<A>) {
      write(weight_grad->data<A>());
    } else {
      write(weight_grad->data<T>());
    }
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
