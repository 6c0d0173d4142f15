#include "ops/linalg/gemm_onednn.h"

#include <algorithm>
#include <cstring>

#include "ops/linalg/gemm_bfloat16.h"
#include "ops/linalg/gemm_call.h"
#include "ops/linalg/gemm_operands.h"
#include "ops/linalg/gemm_panels.h"
#include "ops/linalg/gemm_pieces.h"
#include "ops/linalg/gemm_tiles.h"
#include "ops/onednn/cpu_isa.h"
#include "ops/onednn/threads.h"
#include "tensor/dtype.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"

namespace proa::inline v0::ops {
namespace {

// Asked at load (tensor/fork_locks.h says why).
const bool has_avx512 = onednn::Has(dnnl::cpu_isa::avx512_core);

// Of float32, for which there is a kernel.
void RunPiece(const GemmProblem& p, int64_t c_row_stride) {
  const onednn::SerialScope serial;
  CallGemm(p, c_row_stride);
}

// Of a float32 product oneDNN 2.6 copies the matrices into another order if all
// of them are dense, though its kernels need not: a sixth of the time of a
// large product, most of it where A has few rows. Parts of matrices it does not
// copy. So we cut such products, by their shapes, and give each thread whole
// pieces. Where that pays was measured (docs/notes/cpu_speed.md). No rows: not
// cut.
GemmCut CutAgainstCopies(const GemmProblem& p) {
  constexpr int64_t kLarge = 1 << 27;   // multiply-adds
  constexpr int64_t kLargeB = 1 << 20;  // elements
  constexpr int64_t kFew = 64;          // rows
  if (p.dtype != DType::kFloat32 || !p.batch.empty() || p.n < 512) return {};
  if (p.b.column_stride != 1 || p.b.row_stride != p.n) return {};
  const bool by_rows = p.a.column_stride == 1 && p.a.row_stride == p.k;
  const bool by_columns = p.a.row_stride == 1 && p.a.column_stride == p.m;
  const double of_b = static_cast<double>(p.k) * p.n;
  if (p.m < kFew) {
    if (!by_rows || of_b < kLargeB) return {};
  } else if (of_b * p.m < kLarge || !(by_rows || (by_columns && p.n >= p.m))) {
    return {};
  }
  // Of the machine, not of the threads now: the bits depend on it.
  const int cpus = AvailableCpus();
  const int64_t wide = p.m < kFew ? 256 : 512, high = 1024, narrow = 192;
  int64_t across = std::max<int64_t>(1, (p.n + wide / 2) / wide);
  // Pieces of few rows read B with every few products.
  while (across < 2 * cpus && p.n >= 2 * narrow * across) across *= 2;
  int64_t down = 1;
  while (p.m > high * down ||
         (across * down < 4 * cpus && p.m >= 4 * kFew * down))
    down *= 2;
  const GemmCut cut = EvenCut(p.m, p.n, p.k, down, across, 1);
  return GemmPieces(p, cut) >= 2 * cpus ? cut : GemmCut{};
}

// Whether both operands are broadcast along batch dim `d`, so that C repeats
// along it: which oneDNN does not do.
bool Repeats(const GemmProblem& p, size_t d) {
  return p.a.batch_strides[d] == 0 && p.b.batch_strides[d] == 0 &&
         p.batch[d] > 1;
}

bool AnyRepeats(const GemmProblem& p) {
  for (size_t d = 0; d < p.batch.size(); ++d) {
    if (Repeats(p, d)) return true;
  }
  return false;
}

// A long sum over the columns of A, where C is small.
bool IsLongSumOverColumns(const GemmProblem& p) {
  constexpr int64_t kLongSum = 2048, kSmall = 1 << 20;
  const bool by_rows = p.a.column_stride == 1 && p.a.row_stride == p.k;
  return !by_rows && p.k >= kLongSum && p.m * p.n < kSmall;
}

// Whether oneDNN 2.6 divides sums of a product over k among its threads, so
// that bits depend on their number: those of float32 that it does not copy into
// another order first, so all of them without AVX-512, and thin ones; and long
// sums over the columns of A where C is too small for the threads. (Of 2484
// random products on up to 16 threads, those that differed had k > 2048 and
// m * n < 2^17.)
bool BitsDependOnThreads(const GemmProblem& p) {
  constexpr int64_t kThin = 8;
  const bool copied = has_avx512 && p.m >= kThin && p.n >= kThin &&
                      !IsLongSumOverColumns(p) && IsDense(p.a, p.m, p.k) &&
                      IsDense(p.b, p.k, p.n);
  return p.dtype == DType::kFloat32 && !copied;
}

// Whether A is better copied row after row: columns that lie whole pages apart
// have few places in a cache, and pieces of such a product take up to a third
// longer.
bool PaysToTurn(const GemmProblem& p) {
  constexpr int64_t kPage = 4096, kMany = 128;
  return p.dtype == DType::kFloat32 && p.batch.empty() && has_avx512 &&
         IsLongSumOverColumns(p) && p.a.row_stride == 1 && p.m >= kMany &&
         p.n >= kMany &&
         p.a.column_stride * static_cast<int64_t>(sizeof(float)) % kPage == 0;
}

bool RunReadable(const GemmProblem& p);

// A batch, by its outermost dim.
bool RunEach(const GemmProblem& p) {
  GemmProblem part = p;
  const auto drop_first = [](DimVector& v) { v.erase(v.begin()); };
  drop_first(part.batch);
  drop_first(part.a.batch_strides);
  drop_first(part.b.batch_strides);
  int64_t c_step = p.m * p.n;
  for (int64_t d : part.batch) c_step *= d;
  const int64_t item = ItemSize(p.dtype);
  c_step *= ItemSize(p.ResultType());
  for (int64_t i = 0; i < p.batch[0]; ++i) {
    part.a.data =
        static_cast<const char*>(p.a.data) + i * p.a.batch_strides[0] * item;
    part.b.data =
        static_cast<const char*>(p.b.data) + i * p.b.batch_strides[0] * item;
    part.c = static_cast<char*>(p.c) + i * c_step;
    if (i > 0 && Repeats(p, 0)) {
      std::memcpy(part.c, p.c, c_step);
    } else if (!RunReadable(part)) {
      return false;
    }
  }
  return true;
}

// Which pieces a product is computed in; no rows: it is not cut.
GemmCut CutOf(const GemmProblem& p) {
  return BitsDependOnThreads(p) ? CutBySizes(p) : CutAgainstCopies(p);
}

// Operands can be read in place.
bool RunReadable(const GemmProblem& p) {
  if (AnyRepeats(p)) return RunEach(p);
  if (LowBitsDependOnThreads(p))
    return p.batch.empty() ? RunLow(p) : RunEach(p);
  if (const GemmCut cut = CutOf(p); cut.rows > 0) {
    if (p.batch.empty() && GemmPieces(p, cut) == 1) {
      RunPiece(p, p.n);
    } else {
      RunInPieces(p, cut, &RunPiece);
    }
    return true;
  }
  const bool together = p.batch.size() <= kMaxBatchDims &&
                        IsNested(p.batch, p.a, p.m, p.k) &&
                        IsNested(p.batch, p.b, p.k, p.n);
  return together ? CallGemm(p, p.n) : RunEach(p);
}

}  // namespace

bool GemmInPieces(const GemmProblem& p,
                  absl::FunctionRef<void(const GemmPart& part)> done) {
  if (SuitsTiles(p)) {
    RunInTiles(p, done);
    return true;
  }
  if (IsKeptInPanels(p)) {
    RunInPanels(p, done);
    return true;
  }
  if (p.dtype != DType::kFloat32) return false;
  if (!p.batch.empty() || !CanBeReadInPlace(p.batch, p.a, p.m, p.k) ||
      !CanBeReadInPlace(p.batch, p.b, p.k, p.n)) {
    return false;
  }
  const GemmCut cut = CutOf(p);
  // Sums in parts are complete when all are added up.
  if (cut.rows == 0 || cut.depth < p.k) return false;
  RunInPieces(p, cut, [&](const GemmProblem& piece, int64_t c_row_stride) {
    RunPiece(piece, c_row_stride);
    const int64_t at =
        static_cast<const float*>(piece.c) - static_cast<const float*>(p.c);
    done({at / p.n, piece.m, at % p.n, piece.n});
  });
  return true;
}

bool GemmOneDnn(const GemmProblem& p) {
  if (SuitsTiles(p)) {
    RunInTiles(p, [](const GemmPart&) {});
    return true;
  }
  if (LoadsUnknownTiles(p)) {
    IntrusivePtr<Storage> a_buffer, b_buffer;
    GemmProblem even = p;
    even.k = p.k + 1;
    even.a = Padded(p.batch, p.a, p.m, p.k, 0, 1, a_buffer);
    even.b = Padded(p.batch, p.b, p.k, p.n, 1, 0, b_buffer);
    return RunReadable(even);
  }
  if (IsKept(p) && CanBeReadInPlace(p.batch, p.a, p.m, p.k) && RunKept(p))
    return true;
  if (IsKeptInPanels(p)) {
    RunInPanels(p, [](const GemmPart&) {});
    return true;
  }
  const bool turned = PaysToTurn(p);
  if (!turned && CanBeReadInPlace(p.batch, p.a, p.m, p.k) &&
      CanBeReadInPlace(p.batch, p.b, p.k, p.n)) {
    return RunReadable(p);
  }
  IntrusivePtr<Storage> a_buffer, b_buffer;
  GemmProblem readable = p;
  readable.a =
      (turned ? ByRows : Readable)(p.batch, p.a, p.m, p.k, p.dtype, a_buffer);
  readable.b = Readable(p.batch, p.b, p.k, p.n, p.dtype, b_buffer);
  return RunReadable(readable);
}

}  // namespace proa::inline v0::ops
