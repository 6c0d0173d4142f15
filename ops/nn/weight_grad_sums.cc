#include "ops/nn/weight_grad_sums.h"

#include "ops/nn/float_copy.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// sums[i] += more[i]
void AddTo(float* __restrict sums, const float* __restrict more, int64_t n) {
  constexpr int64_t kBlock = 16;  // known, so that it is vectorized
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock)
    for (int64_t k = 0; k < kBlock; ++k) sums[i + k] += more[i + k];
  for (; i < n; ++i) sums[i] += more[i];
}

}  // namespace

WeightGradSums::WeightGradSums(const Tensor& weight, int64_t sums)
    : weight_(weight), size_(weight.numel()), sums_(sums) {
  if (sums > 1 || weight.dtype() != DType::kFloat32)
    more_ = Tensor::Empty({sums, size_}, DType::kFloat32);
}

void WeightGradSums::AddUp() const {
  if (!more_.defined()) return;
  float* const first = more_.data<float>();
  parallel_for(0, size_, 16384, [&](int64_t begin, int64_t end) {
    for (int64_t k = 1; k < sums_; ++k)
      AddTo(first + begin, first + k * size_ + begin, end - begin);
  });
  const Shape shape = weight_.shape();
  FloatCopyInto(more_.AsStrided(shape, ContiguousStrides(shape), 0), weight_);
}

}  // namespace proa::inline v0::ops
