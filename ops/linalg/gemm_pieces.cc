#include "ops/linalg/gemm_pieces.h"

#include <algorithm>

#include "tensor/parallel.h"
#include "tensor/place.h"
#include "tensor/storage.h"

namespace proa::inline v0::ops {
namespace {

int64_t Parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

int64_t Entries(const GemmProblem& p) {
  int64_t n = 1;
  for (const int64_t d : p.batch) n *= d;
  return n;
}

// Number `index` of the batch.
GemmProblem Entry(const GemmProblem& p, int64_t index) {
  GemmProblem entry;
  entry.dtype = p.dtype;
  entry.m = p.m;
  entry.n = p.n;
  entry.k = p.k;
  entry.bias = p.bias;
  const auto set = [&](const GemmOperand& x, GemmOperand& to) {
    int64_t rest = index, offset = 0;
    for (int d = static_cast<int>(p.batch.size()) - 1; d >= 0; --d) {
      offset += rest % p.batch[d] * x.batch_strides[d];
      rest /= p.batch[d];
    }
    to.data = static_cast<const float*>(x.data) + offset;
    to.row_stride = x.row_stride;
    to.column_stride = x.column_stride;
  };
  set(p.a, entry.a);
  set(p.b, entry.b);
  entry.c = static_cast<float*>(p.c) + index * p.m * p.n;
  return entry;
}

// Number `index` of the pieces of a product without a batch. Its C is that of
// the product for the first part of k, then of `sums` one after the other.
GemmProblem Piece(const GemmProblem& p, const GemmCut& cut, int64_t index,
                  float* sums) {
  const int64_t across = Parts(p.n, cut.columns);
  const int64_t flat = Parts(p.m, cut.rows) * across;
  const int64_t level = index / flat, from = level * cut.depth;
  const int64_t row = index % flat / across * cut.rows;
  const int64_t column = index % flat % across * cut.columns;
  GemmProblem piece = p;
  piece.m = std::min(cut.rows, p.m - row);
  piece.n = std::min(cut.columns, p.n - column);
  piece.k = std::min(cut.depth, p.k - from);
  piece.a.data = static_cast<const float*>(p.a.data) + row * p.a.row_stride +
                 from * p.a.column_stride;
  piece.b.data = static_cast<const float*>(p.b.data) + from * p.b.row_stride +
                 column * p.b.column_stride;
  float* const c =
      level == 0 ? static_cast<float*>(p.c) : sums + (level - 1) * p.m * p.n;
  piece.c = c + row * p.n + column;
  if (level > 0) piece.bias = nullptr;
  if (piece.bias != nullptr)
    piece.bias = static_cast<const float*>(p.bias) + column;
  return piece;
}

// c += each of `count` matrices of `size` elements, in order.
void AddUp(const float* matrices, int64_t count, int64_t size, float* c) {
  parallel_for(0, size, 1 << 13, [&](int64_t begin, int64_t end) {
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = begin; i < end; ++i) c[i] += matrices[j * size + i];
    }
  });
}

// The work of one product in units that are worth a thread: of arithmetic, and
// of memory where that takes longer. Few pieces are enough for little work.
int64_t WorthwhilePieces(int64_t m, int64_t n, int64_t k) {
  constexpr double kMaxPieces = 1 << 20;
  const double work = static_cast<double>(m) * n * k;
  const double read = static_cast<double>(m) * k + static_cast<double>(k) * n +
                      static_cast<double>(m) * n;
  double pieces = std::max(1., std::min(2., work / (1 << 18)));
  pieces = std::max(pieces, std::min(4., work / (1 << 19)));
  pieces = std::max(pieces, std::min(8., work / (1 << 21)));
  pieces = std::max(pieces, std::min(8., read / (1 << 18)));
  // Large ones of [1024, 512]: parts of 512 rows and columns or less oneDNN
  // reads in place, which takes twice the time where rows lie 8 KiB apart.
  pieces = std::max(pieces, static_cast<double>(m) * n / (1024 * 512));
  return static_cast<int64_t>(std::min(pieces, kMaxPieces));
}

}  // namespace

GemmCut EvenCut(int64_t m, int64_t n, int64_t k, int64_t down, int64_t across,
                int64_t deep) {
  // In steps that kernels compute.
  const auto size = [](int64_t all, int64_t parts) {
    if (parts == 1) return all;
    const int64_t part = Parts(all, parts), step = part < 256 ? 16 : 64;
    return Parts(part, step) * step;
  };
  return {size(m, down), size(n, across), size(k, deep)};
}

int64_t GemmPieces(const GemmProblem& p, const GemmCut& cut) {
  return Parts(p.m, cut.rows) * Parts(p.n, cut.columns) * Parts(p.k, cut.depth);
}

GemmCut CutBySizes(const GemmProblem& p) {
  constexpr int64_t kShortest = 96;  // of what is halved
  constexpr int64_t kLeastDepth = 512;
  const int64_t m = p.m, n = p.n, k = p.k;
  const int64_t wanted =
      std::max<int64_t>(1, WorthwhilePieces(m, n, k) / Entries(p));
  int64_t down = 1, across = 1;
  while (down * across < wanted) {
    const int64_t rows = m / down, columns = n / across;
    if (std::max(rows, columns) < kShortest) break;
    (rows > columns ? down : across) *= 2;
  }
  const int64_t deep =
      std::max<int64_t>(1, std::min(k / kLeastDepth, wanted / (down * across)));
  return EvenCut(m, n, k, down, across, deep);
}

void RunInPieces(
    const GemmProblem& p, const GemmCut& cut,
    absl::FunctionRef<void(const GemmProblem& piece, int64_t c_row_stride)>
        run) {
  // What a call costs, and what is worth a thread, in multiply-adds.
  constexpr double kOfCall = 1 << 14, kOfThread = 1 << 18;
  const int64_t entries = Entries(p), size = p.m * p.n;
  const int64_t deep = Parts(p.k, cut.depth), pieces = GemmPieces(p, cut);
  // The sums over all parts of k but the first, which goes into C.
  IntrusivePtr<Storage> buffer;
  float* sums = nullptr;
  if (deep > 1) {
    buffer = Storage::Allocate(
        entries * (deep - 1) * size * static_cast<int64_t>(sizeof(float)),
        Place());
    sums = static_cast<float*>(buffer->data());
  }
  const double work = static_cast<double>(cut.rows) * cut.columns * cut.depth;
  const auto grain =
      std::max<int64_t>(1, static_cast<int64_t>(kOfThread / (kOfCall + work)));
  parallel_for(0, entries * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t entry = i / pieces;
      float* const own = deep > 1 ? sums + entry * (deep - 1) * size : nullptr;
      run(Piece(Entry(p, entry), cut, i % pieces, own), p.n);
    }
  });
  auto* const c = static_cast<float*>(p.c);
  for (int64_t entry = 0; deep > 1 && entry < entries; ++entry)
    AddUp(sums + entry * (deep - 1) * size, deep - 1, size, c + entry * size);
}

}  // namespace proa::inline v0::ops
