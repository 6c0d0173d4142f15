// Kernels of batch normalization, compiled once per instruction set. One task
// is a block of channels: a single one where its pixels are dense ([N, C,
// ...]), or 64 adjacent ones where channels are the last dim. Sums are kept in
// double.
#include <cmath>
#include <cstring>

#include "ops/nn/nn_kernels.h"
#include "ops/nn/row_loops.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

constexpr int64_t kBlock = 64;

// x as [batch, channels, inner], or [batch, channels] with channels last.
struct ChannelLayout {
  int64_t batch = 1, channels = 1, inner = 1;
  bool last = false;
  int64_t count() const { return batch * inner; }
};

ChannelLayout LayoutOf(const Tensor& x, std::string_view data_format) {
  ChannelLayout l;
  l.last = x.rank() == 2 || data_format.back() == 'C';
  if (data_format == "NC") l.last = true;
  if (l.last) {
    for (int d = 0; d + 1 < x.rank(); ++d) l.batch *= x.size(d);
    l.channels = x.size(x.rank() - 1);
  } else {
    l.batch = x.size(0);
    l.channels = x.size(1);
    for (int d = 2; d < x.rank(); ++d) l.inner *= x.size(d);
  }
  return l;
}

// Calls f(first_channel, channels) for every block, in parallel.
template <typename F>
void ForEachBlock(const ChannelLayout& l, F&& f) {
  const int64_t block = l.last ? kBlock : 1;
  const int64_t blocks = (l.channels + block - 1) / block;
  const int64_t work = std::max<int64_t>(1, l.count() * block);
  parallel_for(0, blocks, std::max<int64_t>(1, 16384 / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k)
                   f(k * block, std::min(block, l.channels - k * block));
               });
}

// sums[c] += term(c, offset) over all elements of channels [first, first + n),
// where `c` counts from `first`.
template <typename A, typename F>
void SumChannels(const ChannelLayout& l, int64_t first, int64_t n, double* sums,
                 F&& term) {
  std::fill_n(sums, n, 0.0);
  if (!l.last) {
    for (int64_t b = 0; b < l.batch; ++b) {
      const int64_t start = (b * l.channels + first) * l.inner;
      sums[0] +=
          SumOver<A>(l.inner, [&](int64_t i) { return term(0, start + i); });
    }
    return;
  }
  // Some rows at a time in A, which is what vectorizes.
  constexpr int64_t kRows = 64;
  for (int64_t b = 0; b < l.batch; b += kRows) {
    A part[kBlock] = {};
    for (int64_t r = b; r < std::min(b + kRows, l.batch); ++r) {
      const int64_t start = r * l.channels + first;
      for (int64_t c = 0; c < n; ++c) part[c] += term(c, start + c);
    }
    for (int64_t c = 0; c < n; ++c) sums[c] += part[c];
  }
}

// Calls f(c, offset) for all elements of channels [first, first + n).
template <typename F>
void ForEachElement(const ChannelLayout& l, int64_t first, int64_t n, F&& f) {
  for (int64_t b = 0; b < l.batch; ++b) {
    const int64_t start = (b * l.channels + first) * l.inner;
    if (!l.last) {
      for (int64_t i = 0; i < l.inner; ++i) f(int64_t{0}, start + i);
    } else {
      for (int64_t c = 0; c < n; ++c) f(c, start + c);
    }
  }
}

template <typename A>
const A* DataOrNull(const Tensor& t) {
  return t.defined() ? t.data<A>() : nullptr;
}

// out = x * scale + shift for each channel of a block.
template <typename T, typename A>
void ScaleAndShift(const ChannelLayout& l, int64_t first, int64_t n, const T* x,
                   const A* scale, const A* shift, T* out) {
  ForEachElement(l, first, n, [&](int64_t c, int64_t i) {
    out[i] = T(static_cast<A>(x[i]) * scale[c] + shift[c]);
  });
}

}  // namespace

void BatchNorm(const KernelContext& ctx, const Tensor& x,
               const Tensor& running_mean, const Tensor& running_var,
               const Tensor& weight, const Tensor& bias, double momentum,
               double epsilon, std::string_view data_format, Tensor* out,
               Tensor* running_mean_out, Tensor* running_var_out,
               Tensor* saved_mean, Tensor* saved_inv_std) {
  const ChannelLayout l = LayoutOf(x, data_format);
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    constexpr DType kA = kDTypeOf<A>;
    const Tensor old_mean = FloatCopy(running_mean, kA);
    const Tensor old_var = FloatCopy(running_var, kA);
    const Tensor w = FloatCopy(weight, kA), b = FloatCopy(bias, kA);
    const A* pw = DataOrNull<A>(w);
    const A* pb = DataOrNull<A>(b);
    Tensor stats = Tensor::Empty({4, l.channels}, kA);
    A* const new_mean = stats.data<A>();
    A* const new_var = new_mean + l.channels;
    A* const means = new_var + l.channels;
    A* const inv_stds = means + l.channels;
    const T* px = x.data<T>();
    T* py = out->data<T>();
    const double count = static_cast<double>(std::max<int64_t>(l.count(), 1));
    const bool empty = l.count() == 0;
    ForEachBlock(l, [&](int64_t first, int64_t n) {
      double sums[kBlock];
      A mean[kBlock], scale[kBlock], shift[kBlock];
      SumChannels<A>(l, first, n, sums,
                     [&](int64_t, int64_t i) { return static_cast<A>(px[i]); });
      for (int64_t c = 0; c < n; ++c) mean[c] = static_cast<A>(sums[c] / count);
      SumChannels<A>(l, first, n, sums, [&](int64_t c, int64_t i) {
        const A d = static_cast<A>(px[i]) - mean[c];
        return d * d;
      });
      for (int64_t c = 0; c < n; ++c) {
        const int64_t k = first + c;
        const A variance = static_cast<A>(sums[c] / count);
        const A inv_std = A(1) / std::sqrt(variance + static_cast<A>(epsilon));
        means[k] = mean[c];
        inv_stds[k] = inv_std;
        // An empty batch says nothing about the statistics.
        const A keep = empty ? A(1) : static_cast<A>(momentum);
        new_mean[k] = old_mean.data<A>()[k] * keep + mean[c] * (A(1) - keep);
        new_var[k] = old_var.data<A>()[k] * keep + variance * (A(1) - keep);
        scale[c] = pw != nullptr ? inv_std * pw[k] : inv_std;
        shift[c] = (pb != nullptr ? pb[k] : A(0)) - mean[c] * scale[c];
      }
      ScaleAndShift(l, first, n, px, scale, shift, py);
    });
    const auto part = [&](int64_t row) {
      return stats.AsStrided({l.channels}, {1}, row * l.channels);
    };
    FloatCopyInto(part(0), *running_mean_out);
    FloatCopyInto(part(1), *running_var_out);
    FloatCopyInto(part(2), *saved_mean);
    FloatCopyInto(part(3), *saved_inv_std);
  });
}

void BatchNormInference(const KernelContext& ctx, const Tensor& x,
                        const Tensor& mean, const Tensor& variance,
                        const Tensor& weight, const Tensor& bias,
                        double epsilon, std::string_view data_format,
                        Tensor* out) {
  const ChannelLayout l = LayoutOf(x, data_format);
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    constexpr DType kA = kDTypeOf<A>;
    const Tensor m = FloatCopy(mean, kA), v = FloatCopy(variance, kA);
    const Tensor w = FloatCopy(weight, kA), b = FloatCopy(bias, kA);
    const A* pw = DataOrNull<A>(w);
    const A* pb = DataOrNull<A>(b);
    ForEachBlock(l, [&](int64_t first, int64_t n) {
      A scale[kBlock], shift[kBlock];
      for (int64_t c = 0; c < n; ++c) {
        const int64_t k = first + c;
        const A inv_std =
            A(1) / std::sqrt(v.data<A>()[k] + static_cast<A>(epsilon));
        scale[c] = pw != nullptr ? inv_std * pw[k] : inv_std;
        shift[c] = (pb != nullptr ? pb[k] : A(0)) - m.data<A>()[k] * scale[c];
      }
      ScaleAndShift(l, first, n, x.data<T>(), scale, shift, out->data<T>());
    });
  });
}

// With xh = (x - mean) inv_std and means over a channel:
// x_grad = weight inv_std (g - mean(g) - xh mean(g xh)) + (shift + slope xh) /
// count.
void BatchNormInputGrad(const KernelContext& ctx, const Tensor& grad_out,
                        const Tensor& x, const Tensor& weight,
                        const Tensor& mean, const Tensor& inv_std,
                        const Tensor& shift, const Tensor& slope,
                        std::string_view data_format, Tensor* x_grad) {
  const ChannelLayout l = LayoutOf(x, data_format);
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    constexpr DType kA = kDTypeOf<A>;
    const Tensor m = FloatCopy(mean, kA), r = FloatCopy(inv_std, kA);
    const Tensor w = FloatCopy(weight, kA);
    const Tensor shifts = FloatCopy(shift, kA), slopes = FloatCopy(slope, kA);
    const A* pw = DataOrNull<A>(w);
    const A* pshift = DataOrNull<A>(shifts);
    const A* pslope = DataOrNull<A>(slopes);
    const T* px = x.data<T>();
    const T* pg = grad_out.data<T>();
    T* to = x_grad->data<T>();
    const double count = static_cast<double>(std::max<int64_t>(l.count(), 1));
    ForEachBlock(l, [&](int64_t first, int64_t n) {
      const A* pm = m.data<A>() + first;
      const A* pr = r.data<A>() + first;
      double sums[kBlock];
      // x_grad = a * g + b * (x - mean) + c
      A a[kBlock], b[kBlock], c0[kBlock];
      SumChannels<A>(l, first, n, sums,
                     [&](int64_t, int64_t i) { return static_cast<A>(pg[i]); });
      for (int64_t c = 0; c < n; ++c) {
        a[c] = pw != nullptr ? pr[c] * pw[first + c] : pr[c];
        c0[c] = static_cast<A>(-a[c] * sums[c] / count);
        if (pshift != nullptr)
          c0[c] += static_cast<A>(pshift[first + c] / count);
      }
      SumChannels<A>(l, first, n, sums, [&](int64_t c, int64_t i) {
        return static_cast<A>(pg[i]) * (static_cast<A>(px[i]) - pm[c]);
      });
      for (int64_t c = 0; c < n; ++c) {
        b[c] = static_cast<A>(-a[c] * pr[c] * pr[c] * sums[c] / count);
        if (pslope != nullptr)
          b[c] += static_cast<A>(pslope[first + c] * pr[c] / count);
      }
      ForEachElement(l, first, n, [&](int64_t c, int64_t i) {
        to[i] = T(a[c] * static_cast<A>(pg[i]) +
                  b[c] * (static_cast<A>(px[i]) - pm[c]) + c0[c]);
      });
    });
  });
}

// Sum over a channel of grad_out * (x - mean) * inv_std.
void BatchNormWeightGrad(const KernelContext& ctx, const Tensor& grad_out,
                         const Tensor& x, const Tensor& mean,
                         const Tensor& inv_std, std::string_view data_format,
                         Tensor* weight_grad) {
  const ChannelLayout l = LayoutOf(x, data_format);
  VisitFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    constexpr DType kA = kDTypeOf<A>;
    const Tensor m = FloatCopy(mean, kA), r = FloatCopy(inv_std, kA);
    Tensor result = Tensor::Empty({l.channels}, kA);
    ForEachBlock(l, [&](int64_t first, int64_t n) {
      double sums[kBlock];
      const A* pm = m.data<A>() + first;
      SumChannels<A>(l, first, n, sums, [&](int64_t c, int64_t i) {
        return static_cast<A>(grad_out.data<T>()[i]) *
               (static_cast<A>(x.data<T>()[i]) - pm[c]);
      });
      for (int64_t c = 0; c < n; ++c)
        result.data<A>()[first + c] =
            static_cast<A>(sums[c] * r.data<A>()[first + c]);
    });
    FloatCopyInto(result, *weight_grad);
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
