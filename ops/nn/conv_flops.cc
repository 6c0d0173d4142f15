// What convolutions cost, for the profiler: each element of the larger side
// meets the weights of one channel of it; two operations each.
#include <algorithm>
#include <span>

#include "ops/profile.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {
namespace {

using Values = std::span<const Value>;

const Tensor& TensorAt(Values values, size_t i) {
  return std::get<Tensor>(values[i]);
}
double Numel(const Tensor& t) { return static_cast<double>(t.numel()); }

double Products(const Tensor& side, const Tensor& weight) {
  const auto channels =
      static_cast<double>(std::max<int64_t>(weight.size(0), 1));
  return 2 * Numel(side) * Numel(weight) / channels;
}
double Bias(const Value& bias, const Tensor& out) {
  const Tensor* t = std::get_if<Tensor>(&bias);
  return t != nullptr && t->defined() ? Numel(out) : 0;
}

double Conv2d(Values args, Values results) {
  const Tensor& out = TensorAt(results, 0);
  return Products(out, TensorAt(args, 1)) + Bias(args[2], out);
}
double Conv2dInputGrad(Values args, Values) {
  return Products(TensorAt(args, 0), TensorAt(args, 1));
}
double Conv2dWeightGrad(Values args, Values results) {
  return Products(TensorAt(args, 1), TensorAt(results, 0));
}
double Conv2dTranspose(Values args, Values results) {
  return Products(TensorAt(args, 0), TensorAt(args, 1)) +
         Bias(args[2], TensorAt(results, 0));
}

const FlopsRegistration registrations[] = {
    {"conv2d", &Conv2d},
    {"conv2d_input_grad", &Conv2dInputGrad},
    {"conv2d_weight_grad", &Conv2dWeightGrad},
    {"conv2d_transpose", &Conv2dTranspose},
};

}  // namespace
}  // namespace proa::inline v0
