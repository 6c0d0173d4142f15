// Some columns of a row-major matrix, as a product reads them.
#ifndef PROA_OPS_NN_MATRIX_COLUMNS_H_
#define PROA_OPS_NN_MATRIX_COLUMNS_H_

#include <cstdint>
#include <cstring>

#include "tensor/tensor.h"

namespace proa::inline v0::ops {

// Columns [begin, begin + size) of some rows of a matrix, for a product: as
// they lie, or apart from each other in a copy where rows that lie a power of
// two apart would share few lines of the cache (at 2 KiB the product takes half
// as long again).
class MatrixColumns {
 public:
  MatrixColumns(const float* rows, int64_t count, int64_t width, int64_t begin,
                int64_t size)
      : data_(rows + begin), step_(width) {
    constexpr int64_t kBadStep = 512, kGap = 16;
    if (width % kBadStep != 0) return;
    step_ = size % kBadStep == 0 ? size + kGap : size;
    copy_ = Tensor::Empty({count, step_}, DType::kFloat32);
    float* const to = copy_.data<float>();
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(to + k * step_, data_ + k * width,
                  static_cast<size_t>(size) * sizeof(float));
    data_ = to;
  }
  const float* data() const { return data_; }
  int64_t step() const { return step_; }

 private:
  const float* data_;
  int64_t step_;
  Tensor copy_;
};

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_NN_MATRIX_COLUMNS_H_
