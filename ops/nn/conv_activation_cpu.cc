// Kernel of a convolution with residual and activation, compiled once per
// instruction set. oneDNN would compute relu itself, and make 0 of NaN.
#include <span>
#include <string_view>

#include "ops/nn/conv_activation.h"
#include "ops/nn/conv_activation_kernels.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/primitives/cpu/loops.h"

namespace proa::inline v0::ops::PROA_ISA {

void Conv2dActivation(const KernelContext& ctx, const Tensor& x,
                      const Tensor& weight, const Tensor& bias,
                      const Tensor& residual, std::string_view activation,
                      double alpha, double beta,
                      std::span<const int64_t> stride,
                      std::span<const int64_t> padding,
                      std::span<const int64_t> dilation, int64_t groups,
                      std::string_view data_format,
                      std::string_view padding_algorithm, Tensor* out) {
  cpu::Conv(ctx, x, weight, bias, stride, padding, dilation, groups,
            data_format, padding_algorithm, out);
  if (out->numel() == 0) return;
  const Tensor y = *out;
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool found = VisitActivation(activation, alpha, beta, [&](auto f) {
      if (residual.defined()) {
        RunElementwise<T>(formula::OfSum<decltype(f)>{f}, out, y, residual);
      } else {
        RunElementwise<T>(f, out, y);
      }
    });
    if (!found && residual.defined()) {
      RunElementwise<T>(formula::Sum{}, out, y, residual);
    }
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
