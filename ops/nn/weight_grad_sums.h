// Where the parts of the weight gradient of a convolution go, to be added up.
#ifndef PROA_OPS_NN_WEIGHT_GRAD_SUMS_H_
#define PROA_OPS_NN_WEIGHT_GRAD_SUMS_H_

#include <cstdint>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// `sums` gradients, to be added up in their order; the only one is the gradient
// itself if that is float32.
class WeightGradSums {
 public:
  WeightGradSums(const Tensor& weight, int64_t sums);
  float* operator[](int64_t k) const {
    return (more_.defined() ? more_ : weight_).data<float>() + k * size_;
  }
  void AddUp() const;

 private:
  const Tensor& weight_;
  const int64_t size_, sums_;
  Tensor more_;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_WEIGHT_GRAD_SUMS_H_
