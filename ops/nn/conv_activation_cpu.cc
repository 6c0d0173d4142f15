// Kernel of a convolution with residual and activation, compiled once per
// instruction set, on some images at a time. oneDNN would compute relu itself,
// and make 0 of NaN.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/nn/conv_activation.h"
#include "ops/nn/conv_activation_kernels.h"
#include "ops/nn/conv_kernels.h"
#include "ops/nn/float_copy.h"
#include "ops/nn/images.h"
#include "ops/primitives/cpu/loops.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

// out = activation(out + residual), in place.
void Activate(std::string_view activation, double alpha, double beta,
              const Tensor& residual, Tensor* out) {
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

}  // namespace

void Conv2dActivation(const KernelContext& ctx, const Tensor& x,
                      const Tensor& weight, const Tensor& bias,
                      const Tensor& residual, std::string_view activation,
                      double alpha, double beta,
                      std::span<const int64_t> stride,
                      std::span<const int64_t> padding,
                      std::span<const int64_t> dilation, int64_t groups,
                      std::string_view data_format,
                      std::string_view padding_algorithm, Tensor* out) {
  if (out->numel() == 0) return;
  const Tensor in = ChannelsLastInput(x, data_format);
  const Tensor y = ChannelsLastOutput(*out, data_format);
  const Tensor added =
      residual.defined()
          ? FloatCopy(ChannelsLastInput(residual, data_format), out->dtype())
          : Tensor();
  const int64_t batch = y.size(0), together = ImagesTogether(y);
  for (int64_t first = 0; first < batch; first += together) {
    const int64_t last = std::min(batch, first + together);
    Tensor part = ImagesOf(y, first, last);
    cpu::Conv(ctx, ImagesOf(in, first, last), weight, bias, stride, padding,
              dilation, groups, "NHWC", padding_algorithm, &part);
    Activate(activation, alpha, beta,
             added.defined() ? ImagesOf(added, first, last) : added, &part);
  }
}

}  // namespace proa::inline v0::ops::PROA_ISA
