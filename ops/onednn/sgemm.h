// Sgemm: a float32 product of matrices in place, for kernels that need no more.
#ifndef PROA_OPS_ONEDNN_SGEMM_H_
#define PROA_OPS_ONEDNN_SGEMM_H_

#include <cstdint>

namespace proa::inline v0::onednn {

// c [m, n] = a [m, k] * b [k, n]; all row-major with rows ld* elements apart.
// With transpose_a, a is [k, m]; with transpose_b, b is [n, k]. Sizes are
// positive.
struct SgemmProblem {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m, n, k;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  float* c;
  int64_t ldc;
  bool accumulate = false;  // c += a * b
};

// Throws Error kResourceExhausted if oneDNN has no memory for it.
void Sgemm(const SgemmProblem& p);

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_SGEMM_H_
