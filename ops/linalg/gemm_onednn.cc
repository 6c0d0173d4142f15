#include "ops/linalg/gemm_onednn.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ops/linalg/gemm_pieces.h"
#include "ops/onednn/descriptor.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/packed_weights.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/primitive_cache.h"
#include "ops/onednn/threads.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {
namespace {

using onednn::Primitive;
using onednn::PrimitiveCache;
using onednn::PrimitiveKey;
using onednn::PrimitiveKind;

// oneDNN takes 12 dims, its fast kernels fewer; more batch dims are rare.
constexpr int kMaxBatchDims = 4;

// Of what oneDNN uses; asked at load (tensor/fork_locks.h says why).
bool Has(dnnl::cpu_isa isa) {
  const int wanted = static_cast<int>(isa);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

const bool has_avx512 = Has(dnnl::cpu_isa::avx512_core);
const bool has_bfloat16 = Has(dnnl::cpu_isa::avx512_core_bf16);
const bool has_amx = Has(dnnl::cpu_isa::avx512_core_amx);

// One operand as oneDNN sees it: [batch..., rows, columns].
struct Matrix {
  DimVector dims;
  DimVector strides;
};

bool OneIsDense(int64_t rows, int64_t columns, int64_t row_stride,
                int64_t column_stride) {
  const bool by_rows = (columns == 1 || column_stride == 1) &&
                       (rows == 1 || row_stride >= columns);
  const bool by_columns =
      (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return by_rows || by_columns;
}

// Batch strides may not be negative.
bool CanBeReadInPlace(const DimVector& batch, const GemmOperand& x,
                      int64_t rows, int64_t columns) {
  if (!OneIsDense(rows, columns, x.row_stride, x.column_stride)) return false;
  for (size_t d = 0; d < batch.size(); ++d)
    if (x.batch_strides[d] < 0) return false;
  return true;
}

// Whether one descriptor can say where the matrices of a batch lie. oneDNN
// wants each stride to be as large as all that the smaller ones lead over, gaps
// behind the last row too: [:, ::2] of an odd number of rows has fewer.
bool IsNested(const DimVector& batch, const GemmOperand& x, int64_t rows,
              int64_t columns) {
  if (batch.empty()) return true;
  absl::InlinedVector<std::pair<int64_t, int64_t>, 8> steps;  // stride, dim
  const auto add = [&](int64_t stride, int64_t dim) {
    if (dim > 1 && stride != 0) steps.emplace_back(stride, dim);
  };
  add(x.row_stride, rows);
  add(x.column_stride, columns);
  for (size_t d = 0; d < batch.size(); ++d) add(x.batch_strides[d], batch[d]);
  std::sort(steps.begin(), steps.end());
  int64_t least = 1;
  for (const auto& [stride, dim] : steps) {
    if (stride < least) return false;
    least = stride * dim;
  }
  return true;
}

Matrix InPlace(const DimVector& batch, const GemmOperand& x, int64_t rows,
               int64_t columns) {
  Matrix m;
  for (size_t d = 0; d < batch.size(); ++d) {
    m.dims.push_back(x.batch_strides[d] == 0 ? 1 : batch[d]);
    m.strides.push_back(x.batch_strides[d]);
  }
  m.dims.push_back(rows);
  m.dims.push_back(columns);
  m.strides.push_back(x.row_stride);
  m.strides.push_back(x.column_stride);
  // A one-element dim may come with any stride: make it that of a dense matrix.
  const size_t r = batch.size(), c = r + 1;
  if (rows == 1) m.strides[r] = m.strides[c] == 1 ? columns : 1;
  if (columns == 1) m.strides[c] = m.strides[r] == 1 && rows > 1 ? rows : 1;
  int64_t dense = rows * columns;
  for (int d = static_cast<int>(r) - 1; d >= 0; --d) {
    if (m.dims[d] == 1) m.strides[d] = dense;
    dense = std::max(dense, m.dims[d] * m.strides[d]);
  }
  return m;
}

template <typename T>
void Pack(const T* source, const DimVector& dims, const DimVector& strides,
          size_t d, T*& to) {
  const int64_t n = dims[d], s = strides[d];
  if (d + 1 == dims.size()) {
    for (int64_t i = 0; i < n; ++i) *to++ = source[i * s];
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    Pack(source + i * s, dims, strides, d + 1, to);
}

// Broadcast batch dims stay broadcast.
DimVector DenseDims(const DimVector& batch, const GemmOperand& x, int64_t rows,
                    int64_t columns) {
  DimVector dims;
  for (size_t d = 0; d < batch.size(); ++d)
    dims.push_back(x.batch_strides[d] == 0 ? 1 : batch[d]);
  dims.insert(dims.end(), {rows, columns});
  return dims;
}

Matrix Dense(DimVector dims) {
  const Strides strides = ContiguousStrides(Shape(dims));
  return {std::move(dims), strides};
}

// A dense copy of the elements.
IntrusivePtr<Storage> Packed(const DimVector& batch, const GemmOperand& x,
                             int64_t rows, int64_t columns, DType dtype) {
  const DimVector dims = DenseDims(batch, x, rows, columns);
  DimVector strides(x.batch_strides);
  strides.insert(strides.end(), {x.row_stride, x.column_stride});
  IntrusivePtr<Storage> buffer =
      Storage::Allocate(Shape(dims).numel() * ItemSize(dtype), Place());
  if (ItemSize(dtype) == 4) {
    auto* to = static_cast<float*>(buffer->data());
    Pack(static_cast<const float*>(x.data), dims, strides, 0, to);
  } else {
    auto* to = static_cast<uint16_t*>(buffer->data());
    Pack(static_cast<const uint16_t*>(x.data), dims, strides, 0, to);
  }
  return buffer;
}

// The operand as oneDNN can read it: itself, or a dense copy kept in `buffer`.
GemmOperand Readable(const DimVector& batch, const GemmOperand& x, int64_t rows,
                     int64_t columns, DType dtype,
                     IntrusivePtr<Storage>& buffer) {
  if (CanBeReadInPlace(batch, x, rows, columns)) return x;
  buffer = Packed(batch, x, rows, columns, dtype);
  GemmOperand dense;
  dense.data = buffer->data();
  const Strides strides =
      ContiguousStrides(Shape(DenseDims(batch, x, rows, columns)));
  dense.row_stride = strides[batch.size()];
  dense.column_stride = 1;
  for (size_t d = 0; d < batch.size(); ++d)
    dense.batch_strides.push_back(x.batch_strides[d] == 0 ? 0 : strides[d]);
  return dense;
}

std::span<const int64_t> Span(const DimVector& v) {
  return {v.data(), v.size()};
}

dnnl::memory::desc Descriptor(const Matrix& m, DType dtype) {
  return onednn::Descriptor(Span(m.dims), Span(m.strides), dtype);
}

// `c_row_stride` is more than n where C is a part of the columns of a matrix;
// then there is no batch. `any_order`: B in whatever order is fastest.
Primitive MakeMatMul(const GemmProblem& p, int64_t c_row_stride,
                     bool any_order = false) {
  const auto a_desc = Descriptor(InPlace(p.batch, p.a, p.m, p.k), p.dtype);
  const auto b_desc =
      any_order ? dnnl::memory::desc({p.k, p.n}, onednn::DataType(p.dtype),
                                     dnnl::memory::format_tag::any)
                : Descriptor(InPlace(p.batch, p.b, p.k, p.n), p.dtype);
  DimVector c_dims(p.batch);
  c_dims.insert(c_dims.end(), {p.m, p.n});
  Matrix c = Dense(c_dims);
  c.strides[c_dims.size() - 2] = c_row_stride;
  const auto c_desc = Descriptor(c, p.ResultType());
  const auto attr = onednn::UserScratchpad();
  if (p.bias == nullptr) {
    dnnl::matmul::primitive_desc pd({a_desc, b_desc, c_desc}, attr,
                                    onednn::Engine());
    return Primitive::Of<dnnl::matmul>(
        pd, {{DNNL_ARG_SRC}, {DNNL_ARG_WEIGHTS}, {DNNL_ARG_DST, {}, true}});
  }
  DimVector bias_dims(c_dims.size(), 1);
  bias_dims.back() = p.n;
  const auto bias_desc = onednn::Descriptor(Span(bias_dims), p.ResultType());
  dnnl::matmul::primitive_desc pd({a_desc, b_desc, bias_desc, c_desc}, attr,
                                  onednn::Engine());
  return Primitive::Of<dnnl::matmul>(pd, {{DNNL_ARG_SRC},
                                          {DNNL_ARG_WEIGHTS},
                                          {DNNL_ARG_BIAS},
                                          {DNNL_ARG_DST, {}, true}});
}

// All that the matrices follow from, in few words: hashing them is what a small
// product waits for.
PrimitiveKey KeyOf(const GemmProblem& p, int64_t c_row_stride) {
  PrimitiveKey key(PrimitiveKind::kMatMul);
  key.Add(static_cast<int64_t>(p.dtype) * 4 + p.float_result * 2 +
          (p.bias != nullptr));
  key.Add(int64_t{onednn::NumThreads()});
  key.Add(p.m);
  key.Add(p.n);
  key.Add(p.k);
  key.Add(c_row_stride);
  for (const GemmOperand* x : {&p.a, &p.b}) {
    key.Add(x->row_stride);
    key.Add(x->column_stride);
  }
  for (size_t d = 0; d < p.batch.size(); ++d) {
    key.Add(p.batch[d]);
    key.Add(p.a.batch_strides[d]);
    key.Add(p.b.batch_strides[d]);
  }
  return key;
}

// `b`: as the primitive wants it.
void Execute(const Primitive& primitive, const GemmProblem& p, void* b) {
  void* a = const_cast<void*>(p.a.data);
  if (p.bias != nullptr) {
    primitive.Execute({{DNNL_ARG_SRC, a},
                       {DNNL_ARG_WEIGHTS, b},
                       {DNNL_ARG_BIAS, const_cast<void*>(p.bias)},
                       {DNNL_ARG_DST, p.c}});
  } else {
    primitive.Execute(
        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, p.c}});
  }
}

bool Run(const GemmProblem& p, int64_t c_row_stride) {
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      KeyOf(p, c_row_stride), [&] { return MakeMatMul(p, c_row_stride); });
  if (!primitive->supported()) return false;
  Execute(*primitive, p, const_cast<void*>(p.b.data));
  return true;
}

bool IsDense(const GemmOperand& x, int64_t rows, int64_t columns) {
  return (x.column_stride == 1 && x.row_stride == columns) ||
         (x.row_stride == 1 && x.column_stride == rows);
}

// Of float32, for which there is a kernel.
void RunPiece(const GemmProblem& p, int64_t c_row_stride) {
  const onednn::SerialScope serial;
  Run(p, c_row_stride);
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
  const int64_t wide = p.m < kFew ? 256 : 512, high = 1024;
  const int64_t across = std::max<int64_t>(1, (p.n + wide / 2) / wide);
  int64_t down = 1;
  while (p.m > high * down ||
         (across * down < 4 * cpus && p.m >= 2 * kFew * down))
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

// Intel's cores with AMX have the dot product of bfloat16 vectors for old
// programs only: one in two cycles, beside four fused multiply-adds. Where AMX
// is hidden, as in virtual machines, float32 is twice as fast.
bool IsBFloat16Slow() {
  return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16") &&
         !has_amx;
}

const bool multiplies_bfloat16 = has_bfloat16 && !IsBFloat16Slow();

// Whether oneDNN 2.6 divides sums of a product over k among its threads, so
// that bits depend on their number: those of float32 that it does not copy into
// another order first, so all of them without AVX-512, and thin ones; and long
// sums over the columns of A where C is too small for the threads. (Of 2484
// random products on up to 16 threads, those that differed had k > 2048 and
// m * n < 2^17.)
bool BitsDependOnThreads(const GemmProblem& p) {
  constexpr int64_t kThin = 8, kLongSum = 2048, kSmall = 1 << 20;
  const bool by_rows = p.a.column_stride == 1 && p.a.row_stride == p.k;
  const bool divided = !by_rows && p.k >= kLongSum && p.m * p.n < kSmall;
  const bool copied = has_avx512 && p.m >= kThin && p.n >= kThin && !divided &&
                      IsDense(p.a, p.m, p.k) && IsDense(p.b, p.k, p.n);
  return p.dtype == DType::kFloat32 && !copied;
}

bool RunReadable(const GemmProblem& p);

// The same of bfloat16, in AMX: where k is cut into blocks. Of 1400 random
// products on 1 to 8 threads one in seven of those with k from 900 on had other
// bits, none up to 768.
bool LowBitsDependOnThreads(const GemmProblem& p) {
  constexpr int64_t kBlock = 768;
  return has_amx && p.dtype == DType::kBFloat16 && p.k > kBlock;
}

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

// Pieces of columns where there are enough of them: each piece brings its part
// of B into the order of AMX.
bool RunLow(const GemmProblem& p) {
  constexpr int64_t kFew = 4;
  const int64_t across = LowPieces(p.n);
  const int64_t down = across < kFew ? std::min<int64_t>(LowPieces(p.m), 8) : 1;
  std::atomic<bool> done = true;
  RunLowInPieces(p, down, across,
                 [&](const GemmProblem& piece, int64_t c_row_stride) {
                   if (!Run(piece, c_row_stride)) done = false;
                 });
  return done;
}

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

// Whether B is a weight that is kept in the order in which AMX multiplies,
// which takes pairs of rows: oneDNN would bring it into that order in each
// call, half of the time of a product with 128 rows.
bool IsKept(const GemmProblem& p) {
  return has_amx && p.dtype == DType::kBFloat16 && p.weight != nullptr &&
         p.batch.empty() && p.b.data == p.weight->raw_data() &&
         p.weight->is_contiguous() && p.weight->numel() == p.k * p.n &&
         IsDense(p.b, p.k, p.n) && onednn::Predicts(*p.weight);
}

// As Run, of a weight in oneDNN's own order.
bool RunKeptPiece(const GemmProblem& p) {
  PrimitiveKey key = KeyOf(p, p.n);
  key.Add(int64_t{1});
  const auto primitive = PrimitiveCache::Global().FindOrMake(
      key, [&] { return MakeMatMul(p, p.n, /*any_order=*/true); });
  if (!primitive->supported()) return false;
  const onednn::PackedWeights packed(
      *p.weight,
      onednn::PackFormat{Descriptor(InPlace({}, p.b, p.k, p.n), p.dtype),
                         primitive->desc(DNNL_ARG_WEIGHTS)});
  Execute(*primitive, p, packed.data());
  return true;
}

// The rows of a product of a weight that is kept, divided where bits would
// depend on the number of threads; false where that leaves too few pieces.
bool RunKept(const GemmProblem& p) {
  constexpr int64_t kFew = 4;
  if (!LowBitsDependOnThreads(p)) return RunKeptPiece(p);
  const int64_t down = LowPieces(p.m);
  if (down < kFew) return false;
  std::atomic<bool> done = true;
  RunLowInPieces(p, down, 1, [&](const GemmProblem& piece, int64_t) {
    if (!RunKeptPiece(piece)) done = false;
  });
  return done;
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
  return together ? Run(p, p.n) : RunEach(p);
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

bool GemmInPieces(const GemmProblem& p,
                  absl::FunctionRef<void(const GemmPart& part)> done) {
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

namespace {

// Whether oneDNN 2.6 and 2.7 load tiles of AMX that they have not configured,
// which is an illegal instruction and ends the process: sums of bfloat16 over
// one element less than a multiple of 32, of some sizes of C. (Seen for [129,
// 63] by [63, 10] and [344, 1215] by [1215, 399], not for each of those near.)
bool LoadsUnknownTiles(const GemmProblem& p) {
  return has_amx && p.dtype == DType::kBFloat16 && p.k % 32 == 31;
}

// A dense copy of 16-bit elements with more rows and columns, of zeros.
GemmOperand Padded(const DimVector& batch, const GemmOperand& x, int64_t rows,
                   int64_t columns, int64_t more_rows, int64_t more_columns,
                   IntrusivePtr<Storage>& buffer) {
  const int64_t wide = columns + more_columns, size = (rows + more_rows) * wide;
  const DimVector dims = DenseDims(batch, x, rows, columns);
  int64_t entries = 1;
  GemmOperand padded;
  padded.row_stride = wide;
  padded.column_stride = 1;
  padded.batch_strides.resize(batch.size());
  for (size_t d = batch.size(); d-- > 0;) {
    padded.batch_strides[d] = x.batch_strides[d] == 0 ? 0 : entries * size;
    entries *= dims[d];
  }
  buffer = Storage::Allocate(
      entries * size * static_cast<int64_t>(sizeof(uint16_t)), Place());
  auto* const to = static_cast<uint16_t*>(buffer->data());
  std::memset(to, 0, entries * size * sizeof(uint16_t));
  for (int64_t e = 0; e < entries; ++e) {
    const auto* from = static_cast<const uint16_t*>(x.data);
    int64_t rest = e;
    for (size_t d = batch.size(); d-- > 0; rest /= dims[d])
      from += rest % dims[d] * x.batch_strides[d];
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j)
        to[e * size + i * wide + j] =
            from[i * x.row_stride + j * x.column_stride];
    }
  }
  padded.data = to;
  return padded;
}

}  // namespace

bool GemmOneDnn(const GemmProblem& p) {
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
  if (CanBeReadInPlace(p.batch, p.a, p.m, p.k) &&
      CanBeReadInPlace(p.batch, p.b, p.k, p.n)) {
    return RunReadable(p);
  }
  IntrusivePtr<Storage> a_buffer, b_buffer;
  GemmProblem readable = p;
  readable.a = Readable(p.batch, p.a, p.m, p.k, p.dtype, a_buffer);
  readable.b = Readable(p.batch, p.b, p.k, p.n, p.dtype, b_buffer);
  return RunReadable(readable);
}

}  // namespace proa::inline v0::ops
