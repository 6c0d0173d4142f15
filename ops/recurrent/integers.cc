#include "ops/recurrent/integers.h"

#include "ops/primitives/cpu/convert.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"

namespace proa::inline v0::ops {

std::vector<int64_t> ReadIntegers(const Tensor& t) {
  if (!t.defined()) return {};
  std::vector<int64_t> out(t.numel());
  const Tensor dense = Contiguous(t);
  cpu::Convert(t.dtype(), dense.raw_data(), DType::kInt64, out.data(),
               t.numel());
  return out;
}

}  // namespace proa::inline v0::ops
