// Kernel of batch normalization as part of a weight.
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/nn/batch_norm_fold_kernels.h"
#include "ops/nn/float_copy.h"
#include "tensor/copy.h"

namespace proa::inline v0::ops::cpu {

void FoldBatchNorm(const KernelContext& ctx, const Tensor& weight,
                   const Tensor& mean, const Tensor& variance,
                   const Tensor& bias, const Tensor& norm_weight,
                   const Tensor& norm_bias, double epsilon, int64_t channel_dim,
                   int64_t groups, Tensor* folded, Tensor* shift) {
  const int64_t channels = mean.numel();
  const auto doubles = [](const Tensor& t) {
    return FloatCopy(t, DType::kFloat64);
  };
  const Tensor m = doubles(mean), v = doubles(variance), b = doubles(bias),
               w = doubles(norm_weight), s = doubles(norm_bias);
  std::vector<double> scale(channels);
  const Tensor shifts = Tensor::Empty({channels}, DType::kFloat64);
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] = (w.defined() ? w.data<double>()[c] : 1.0) /
               std::sqrt(v.data<double>()[c] + epsilon);
    const double own =
        b.defined() ? b.data<double>()[b.numel() == 1 ? 0 : c] : 0.0;
    shifts.data<double>()[c] = (own - m.data<double>()[c]) * scale[c] +
                               (s.defined() ? s.data<double>()[c] : 0.0);
  }
  FloatCopyInto(shifts, *shift);
  if (weight.numel() == 0) return;
  const int64_t rows = weight.size(0);
  const int64_t columns = channel_dim == 0 ? 1 : weight.size(1);
  const int64_t inner = weight.numel() / (rows * columns);
  VisitFloat(weight.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = weight.data<T>();
    T* to = folded->data<T>();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < columns; ++k) {
        const int64_t c =
            channel_dim == 0 ? r : r / (rows / groups) * columns + k;
        for (int64_t i = 0; i < inner; ++i) {
          *to++ = T(static_cast<double>(*from++) * scale[c]);
        }
      }
    }
  });
}

}  // namespace proa::inline v0::ops::cpu
