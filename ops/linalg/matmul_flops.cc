// What products of matrices cost, for the profiler: two operations for each
// element of the result and step of the sum.
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

// Length of the sums over the rows (or columns) of a matrix; all of a vector.
double Inner(const Tensor& t, bool over_columns) {
  if (t.rank() < 2) return Numel(t);
  return static_cast<double>(t.size(t.rank() - (over_columns ? 1 : 2)));
}

double Matmul(Values args, Values results) {
  const bool transpose_x = std::get<bool>(args[2]);
  return 2 * Numel(TensorAt(results, 0)) *
         Inner(TensorAt(args, 0), !transpose_x);
}
// The product of grad_out with y, of which the sums run the other way.
double MatmulGradX(Values args, Values) {
  const bool transpose_y = std::get<bool>(args[4]);
  return 2 * Numel(TensorAt(args, 0)) * Inner(TensorAt(args, 1), transpose_y);
}
double MatmulGradY(Values args, Values) {
  const bool transpose_x = std::get<bool>(args[3]);
  return 2 * Numel(TensorAt(args, 0)) * Inner(TensorAt(args, 1), !transpose_x);
}
double Linear(Values args, Values results) {
  const double out = Numel(TensorAt(results, 0));
  const Tensor* bias = std::get_if<Tensor>(&args[2]);
  return 2 * out * Inner(TensorAt(args, 1), false) +
         (bias != nullptr && bias->defined() ? out : 0);
}
double LinearGradWeight(Values args, Values) {
  return 2 * Numel(TensorAt(args, 0)) * Inner(TensorAt(args, 1), true);
}
double Bmm(Values args, Values results) {
  return 2 * Numel(TensorAt(results, 0)) * Inner(TensorAt(args, 0), true);
}
double OverX(Values args, Values) { return 2 * Numel(TensorAt(args, 0)); }
double Addmm(Values args, Values results) {
  const double out = Numel(TensorAt(results, 0));
  return 2 * out * Inner(TensorAt(args, 1), true) + 3 * out;
}

const FlopsRegistration registrations[] = {
    {"matmul", &Matmul},
    {"matmul_grad_x", &MatmulGradX},
    {"matmul_grad_y", &MatmulGradY},
    {"linear", &Linear},
    {"linear_grad_weight", &LinearGradWeight},
    {"bmm", &Bmm},
    {"mv", &OverX},
    {"dot", &OverX},
    {"addmm", &Addmm},
};

}  // namespace
}  // namespace proa::inline v0
