#include "ops/vision/image_counts.h"

#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {

std::vector<int64_t> Integers(const Tensor& t) {
  const auto read = [&]<typename T>(const T* p) {
    return std::vector<int64_t>(p, p + t.numel());
  };
  return t.dtype() == DType::kInt32 ? read(t.data<int32_t>())
                                    : read(t.data<int64_t>());
}

std::vector<int64_t> ImageCounts(const char* op, const char* name,
                                 const Tensor& counts, int64_t rows) {
  std::vector<int64_t> out = Integers(counts);
  int64_t sum = 0;
  for (size_t n = 0; n < out.size(); ++n) {
    PROA_REQUIRE(out[n] >= 0, op, ": ", name, " ", out[n], " at [", n,
                 "] is negative");
    PROA_REQUIRE(out[n] <= rows - sum, op, ": ", name,
                 " sums to more than the ", rows, " boxes there are; it is ",
                 Describe(counts));
    sum += out[n];
  }
  PROA_REQUIRE(sum == rows, op, ": ", name, " sums to ", sum, "; there are ",
               rows, " boxes; it is ", Describe(counts));
  return out;
}

}  // namespace proa::inline v0::ops
