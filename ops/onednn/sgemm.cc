#include "ops/onednn/sgemm.h"

#include <atomic>
#include <cstring>

#include "oneapi/dnnl/dnnl.h"
#include "ops/onednn/build_scope.h"
#include "ops/onednn/guards.h"
#include "tensor/denormals.h"
#include "tensor/error.h"

namespace proa::inline v0::onednn {
namespace {

void Run(const SgemmProblem& p) {
  const NoDenormalsScope none;
  const dnnl_status_t status = dnnl_sgemm(
      p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1.f,
      p.a, p.lda, p.b, p.ldb, p.accumulate ? 1.f : 0.f, p.c, p.ldc);
  if (status == dnnl_success) [[likely]]
    return;
  if (status == dnnl_out_of_memory)
    Fail(absl::StatusCode::kResourceExhausted,
         "oneDNN: out of memory in sgemm");
  Fail(absl::StatusCode::kInternal, "oneDNN: sgemm failed with status ",
       static_cast<int>(status));
}

// Floats from the first to the last element of `rows` rows.
int64_t Extent(int64_t rows, int64_t columns, int64_t ld) {
  return (rows - 1) * ld + columns;
}

// In guarded buffers (ops/onednn/guards.h).
void RunGuarded(const SgemmProblem& p) {
  constexpr int64_t kItem = sizeof(float);
  const GuardedBuffer a(kItem * (p.transpose_a ? Extent(p.k, p.m, p.lda)
                                               : Extent(p.m, p.k, p.lda)));
  const GuardedBuffer b(kItem * (p.transpose_b ? Extent(p.n, p.k, p.ldb)
                                               : Extent(p.k, p.n, p.ldb)));
  const GuardedBuffer c(kItem * Extent(p.m, p.n, p.ldc));
  std::memcpy(a.data(), p.a, static_cast<size_t>(a.bytes()));
  std::memcpy(b.data(), p.b, static_cast<size_t>(b.bytes()));
  if (p.accumulate)
    for (int64_t i = 0; i < p.m; ++i)
      std::memcpy(static_cast<float*>(c.data()) + i * p.ldc, p.c + i * p.ldc,
                  static_cast<size_t>(p.n * kItem));
  SgemmProblem guarded = p;
  guarded.a = static_cast<const float*>(a.data());
  guarded.b = static_cast<const float*>(b.data());
  guarded.c = static_cast<float*>(c.data());
  Run(guarded);
  a.Check("sgemm", "a");
  b.Check("sgemm", "b");
  c.Check("sgemm", "c");
  for (int64_t i = 0; i < p.m; ++i)
    std::memcpy(p.c + i * p.ldc, guarded.c + i * p.ldc,
                static_cast<size_t>(p.n * kItem));
}

}  // namespace

void Sgemm(const SgemmProblem& p) {
  if (GuardsAreOn()) [[unlikely]]
    return RunGuarded(p);
  // Whether a first one is over; oneDNN compiles all that it has for them.
  static constinit std::atomic<bool> compiled = false;
  if (!compiled.load(std::memory_order_acquire)) [[unlikely]] {
    const BuildScope building;
    Run(p);
    compiled.store(true, std::memory_order_release);
    return;
  }
  Run(p);
}

}  // namespace proa::inline v0::onednn
