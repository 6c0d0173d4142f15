#include "ops/sparse/groups.h"

#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

template <typename T>
std::vector<int64_t> Starts(const char* op, const Tensor& ids) {
  const T* id = ids.data<T>();
  const int64_t n = ids.numel();
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0 && id[i] == id[i - 1]) continue;
    PROA_REQUIRE(i == 0 || id[i] > id[i - 1], op, ": id ", id[i], " at [", i,
                 "] is less than the one before it, ", id[i - 1]);
    starts.push_back(i);
  }
  starts.push_back(n);
  return starts;
}

}  // namespace

std::vector<int64_t> GroupStarts(const char* op, const Tensor& ids) {
  return ids.dtype() == DType::kInt32 ? Starts<int32_t>(op, ids)
                                      : Starts<int64_t>(op, ids);
}

}  // namespace proa::inline v0::ops::cpu
