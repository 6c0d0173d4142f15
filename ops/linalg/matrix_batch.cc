#include "ops/linalg/matrix_batch.h"

namespace proa::inline v0::ops {

MatrixBatch::MatrixBatch(const Tensor& x)
    : rows(x.size(x.rank() - 2)), columns(x.size(x.rank() - 1)), count(1) {
  for (int d = 0; d + 2 < x.rank(); ++d) count *= x.size(d);
}

BroadcastBatch::BroadcastBatch(const Tensor& x, const Tensor& out) {
  int64_t step = 1;
  for (int d = 1; d + 2 <= out.rank(); ++d) {
    sizes_[dims_] = out.size(out.rank() - 2 - d);
    const int64_t size = d + 2 <= x.rank() ? x.size(x.rank() - 2 - d) : 1;
    steps_[dims_] = size == 1 ? 0 : step;
    step *= size;
    ++dims_;
  }
}

int64_t BroadcastBatch::operator()(int64_t index) const {
  int64_t found = 0;
  for (int d = 0; d < dims_; ++d) {
    found += index % sizes_[d] * steps_[d];
    index /= sizes_[d];
  }
  return found;
}

std::string NameMatrix(const Tensor& x, int64_t index) {
  if (x.rank() == 2) return "the matrix";
  std::string place;
  for (int d = x.rank() - 3; d >= 0; --d) {
    place =
        std::to_string(index % x.size(d)) + (place.empty() ? "" : ", ") + place;
    index /= x.size(d);
  }
  return "the matrix at [" + place + "] of the batch";
}

}  // namespace proa::inline v0::ops
