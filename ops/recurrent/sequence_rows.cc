#include "ops/recurrent/sequence_rows.h"

#include <algorithm>
#include <numeric>

#include "ops/recurrent/integers.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

SequenceRows::SequenceRows(const char* op, int64_t steps, int64_t batch,
                           const Tensor& lengths)
    : order_(batch),
      // No samples take no steps, however many there could be.
      running_(batch > 0 ? steps : 0, batch),
      first_(running_.size(), 0) {
  steps = this->steps();
  std::iota(order_.begin(), order_.end(), int64_t{0});
  if (lengths.defined()) {
    const std::vector<int64_t> length = ReadIntegers(lengths);
    std::fill(running_.begin(), running_.end(), 0);
    for (int64_t n = 0; n < batch; ++n) {
      PROA_REQUIRE(length[n] >= 0 && length[n] <= steps, op, ": length ",
                   length[n], " of sample ", n, " is not in [0, ", steps, "]");
      // Samples that end here, for now.
      if (length[n] > 0) ++running_[length[n] - 1];
      if (length[n] != steps) dense_ = false;
    }
    for (int64_t t = steps - 1; t > 0; --t) running_[t - 1] += running_[t];
    std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
      return length[a] > length[b];
    });
  }
  for (int64_t t = 0; t < steps; ++t) {
    first_[t] = rows_;
    rows_ += running_[t];
  }
}

std::vector<int64_t> SequenceRows::Places(bool time_major) const {
  std::vector<int64_t> places;
  places.reserve(rows_);
  for (int64_t t = 0; t < steps(); ++t)
    for (int64_t i = 0; i < running_[t]; ++i)
      places.push_back(time_major ? t * batch() + order_[i]
                                  : order_[i] * steps() + t);
  return places;
}

}  // namespace proa::inline v0::ops
