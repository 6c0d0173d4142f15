#include "ops/linalg/gemm_bfloat16.h"

#include <algorithm>
#include <atomic>

#include "absl/functional/function_ref.h"
#include "ops/linalg/gemm_call.h"
#include "ops/linalg/gemm_onednn.h"
#include "ops/linalg/gemm_operands.h"
#include "ops/linalg/gemm_pieces.h"
#include "ops/linalg/longest_low_sum.h"
#include "ops/onednn/cpu_isa.h"
#include "ops/onednn/threads.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops {
namespace {

// Asked at load (tensor/fork_locks.h says why).
const bool has_bfloat16 = onednn::Has(dnnl::cpu_isa::avx512_core_bf16);
const bool has_amx = onednn::Has(dnnl::cpu_isa::avx512_core_amx);

// Intel's cores with AMX have the dot product of bfloat16 vectors for old
// programs only: one in two cycles, beside four fused multiply-adds. Where AMX
// is hidden, as in virtual machines, float32 is twice as fast.
bool IsBFloat16Slow() {
  return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16") &&
         !has_amx;
}

const bool multiplies_bfloat16 = has_bfloat16 && !IsBFloat16Slow();

// A product of bfloat16 without a batch by calls of `run` for `down` times
// `across` pieces of its rows and columns, each on one thread. `run` also gets
// how far rows of C lie apart.
void RunLowInPieces(
    const GemmProblem& p, int64_t down, int64_t across,
    absl::FunctionRef<void(const GemmProblem& piece, int64_t c_row_stride)>
        run) {
  const GemmCut cut = EvenCut(p.m, p.n, p.k, down, across, 1);
  const int64_t columns = (p.n + cut.columns - 1) / cut.columns;
  const int64_t rows = (p.m + cut.rows - 1) / cut.rows;
  const int64_t item = ItemSize(p.dtype), c_item = ItemSize(p.ResultType());
  parallel_for(0, rows * columns, 1, [&](int64_t begin, int64_t end) {
    const onednn::SerialScope serial;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / columns * cut.rows;
      const int64_t column = i % columns * cut.columns;
      GemmProblem piece = p;
      piece.m = std::min(cut.rows, p.m - row);
      piece.n = std::min(cut.columns, p.n - column);
      piece.a.data =
          static_cast<const char*>(p.a.data) + row * p.a.row_stride * item;
      piece.b.data = static_cast<const char*>(p.b.data) +
                     column * p.b.column_stride * item;
      if (p.bias != nullptr)
        piece.bias = static_cast<const char*>(p.bias) + column * c_item;
      piece.c = static_cast<char*>(p.c) + (row * p.n + column) * c_item;
      run(piece, p.n);
    }
  });
}

// How many pieces there are of `size` elements, at least 64 in each.
int64_t LowPieces(int64_t size) {
  return std::clamp<int64_t>(size / 64, 1, 16);
}

}  // namespace

bool MultipliesBFloat16() { return multiplies_bfloat16; }

bool SuitsBFloat16(const GemmProblem& p) {
  if (multiplies_bfloat16) return true;
  // An element that is read and written again costs what so many multiply-adds
  // with it do.
  const int64_t few = has_bfloat16 ? 64 : 16;
  return std::min({p.m, p.n, p.k}) < few;
}

bool LoadsUnknownTiles(const GemmProblem& p) {
  return has_amx && p.dtype == DType::kBFloat16 && p.k % 32 == 31;
}

bool LowBitsDependOnThreads(const GemmProblem& p) {
  return has_amx && p.dtype == DType::kBFloat16 && p.k > kLongestLowSum;
}

// Pieces of columns where there are enough of them: each piece brings its part
// of B into the order of AMX.
bool RunLow(const GemmProblem& p) {
  constexpr int64_t kFew = 4;
  const int64_t across = LowPieces(p.n);
  const int64_t down = across < kFew ? std::min<int64_t>(LowPieces(p.m), 8) : 1;
  std::atomic<bool> done = true;
  RunLowInPieces(p, down, across,
                 [&](const GemmProblem& piece, int64_t c_row_stride) {
                   if (!CallGemm(piece, c_row_stride)) done = false;
                 });
  return done;
}

bool IsKept(const GemmProblem& p) {
  return has_amx && p.dtype == DType::kBFloat16 && CanBeKept(p);
}

bool RunKept(const GemmProblem& p) {
  constexpr int64_t kFew = 4;
  if (!LowBitsDependOnThreads(p)) return CallGemmOfKept(p);
  const int64_t down = LowPieces(p.m);
  if (down < kFew) return false;
  std::atomic<bool> done = true;
  RunLowInPieces(p, down, 1, [&](const GemmProblem& piece, int64_t) {
    if (!CallGemmOfKept(piece)) done = false;
  });
  return done;
}

}  // namespace proa::inline v0::ops
