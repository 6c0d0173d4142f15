// What may follow a convolution or a linear layer, formulas of elementwise ops
// by name, and how a kernel of convolution multiplies the weight of each
// channel on the way.
#ifndef PROA_OPS_NN_CONV_ACTIVATION_H_
#define PROA_OPS_NN_CONV_ACTIVATION_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "ops/elementwise/activation.h"
#include "ops/elementwise/exponential.h"
#include "ops/linalg/gemm_then.h"
#include "ops/nn/conv_geometry.h"
#include "ops/primitives/host_device.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

namespace formula {

// Without a choice in the loop, so that what calls them vectorizes.
struct ExactGelu {
  static constexpr float kCost = Gelu::kCost;
  template <class T>
  PROA_HD static T Apply(T x) {
    return Gelu::Exact(x);
  }
};

struct GeluWithTanh {
  static constexpr float kCost = Gelu::kCost;
  template <class T>
  PROA_HD static T Apply(T x) {
    return Gelu::WithTanh(x);
  }
};

}  // namespace formula

// Calls f(formula) for the activation of that name; false if there is none.
template <typename F>
bool VisitActivation(std::string_view name, double alpha, double beta, F&& f) {
  if (name == "relu") return f(formula::Relu{}), true;
  if (name == "relu6") return f(formula::Relu6{}), true;
  if (name == "leaky_relu") return f(formula::LeakyRelu{alpha}), true;
  if (name == "hardtanh") return f(formula::Hardtanh{alpha, beta}), true;
  if (name == "hardsigmoid") return f(formula::Hardsigmoid{alpha, beta}), true;
  if (name == "hardswish") return f(formula::Hardswish{}), true;
  if (name == "mish") return f(formula::Mish{}), true;
  if (name == "silu") return f(formula::Silu{}), true;
  if (name == "sigmoid") return f(formula::Sigmoid{}), true;
  if (name == "tanh") return f(formula::Tanh{}), true;
  if (name == "gelu") return f(formula::ExactGelu{}), true;
  if (name == "gelu_tanh") return f(formula::GeluWithTanh{}), true;
  return false;
}

// What an attribute `activation` may be, for errors.
inline constexpr std::string_view kActivationNames =
    "none, relu, relu6, leaky_relu, hardtanh, hardsigmoid, hardswish, mish, "
    "silu, sigmoid, tanh, gelu or gelu_tanh";

inline bool IsActivation(std::string_view name) {
  return name == "none" || VisitActivation(name, 0, 0, [](const auto&) {});
}

namespace formula {

struct Sum {
  template <class T>
  PROA_HD static T Apply(T x, T y) {
    return x + y;
  }
};

// f(x + y)
template <class F>
struct OfSum {
  F f;
  template <class T>
  PROA_HD T Apply(T x, T y) const {
    return f.Apply(x + y);
  }
};

}  // namespace formula

// What makes activation(y + residual): calls run(formula, y), or with a
// defined residual run(formula, y, residual). False if there is nothing to do.
template <typename Run>
bool VisitActivationOfSum(std::string_view name, double alpha, double beta,
                          const Tensor& y, const Tensor& residual,
                          const Run& run) {
  const bool adds = residual.defined();
  const bool found = VisitActivation(name, alpha, beta, [&](auto f) {
    if (adds) {
      run(formula::OfSum<decltype(f)>{f}, y, residual);
    } else {
      run(f, y);
    }
  });
  if (!found && adds) run(formula::Sum{}, y, residual);
  return found || adds;
}

namespace cpu {

// Whether ConvScaled of these channels-last images, without a scale, adds
// `addend` and takes relu before it writes.
bool FusesSum(const ConvGeometry& g, DType dtype);

// The convolution with the weight of each channel multiplied by `scale`, [out
// channels], if that is defined. Of float32 weights in another format this is
// done while they are packed, so that they do not stand in memory twice. Calls
// `done` for parts of the result, pixels of all images and their channels, once
// they are complete, where it can on the threads that computed them. `addend`,
// which lies as the result does and may be it, and `relu`: only where FusesSum.
// `is_part`: of a result that the caller divided by sizes, each part on one
// thread, in a SerialScope; it is not divided again.
void ConvScaled(const Tensor& x, const Tensor& weight, const Tensor& scale,
                const Tensor& bias, std::span<const int64_t> stride,
                std::span<const int64_t> padding,
                std::span<const int64_t> dilation, int64_t groups,
                std::string_view data_format,
                std::string_view padding_algorithm, bool is_part,
                const Tensor& addend, bool relu, Tensor* out,
                absl::FunctionRef<void(const GemmPart& part)> done);

}  // namespace cpu
}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_CONV_ACTIVATION_H_
