// Kernel of attention_cached.yaml: the parts are joined first.
#include "ops/fused/attention_cached_kernels.h"
#include "ops/manipulation/join_ops.h"
#include "ops/nn/attention_ops.h"
#include "tensor/copy.h"

namespace proa::inline v0::ops::cuda {

void AttentionCached(const KernelContext&, const Tensor& query,
                     const Tensor& past_key, const Tensor& key,
                     const Tensor& past_value, const Tensor& value,
                     const Tensor& mask, double scale, Tensor* out) {
  const Tensor keys[] = {past_key, key}, values[] = {past_value, value};
  CopyInto(attention(query, concat(keys, 1), concat(values, 1), mask, scale),
           *out);
}

}  // namespace proa::inline v0::ops::cuda
