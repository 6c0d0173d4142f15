#include "ops/linalg/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/linalg/dot_lines.h"
#include "ops/linalg/double_product.h"
#include "ops/linalg/gemm_loops.h"
#include "ops/linalg/gemm_onednn.h"
#include "ops/linalg/gemm_then.h"
#include "ops/primitives/cpu/convert.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"

namespace proa::inline v0::ops {
namespace {

// Multiply-adds below which own loops beat the 500 ns that a oneDNN call costs.
constexpr int64_t kTinyWork = 12 * 12 * 12;
// Rows of a panel: fixed, so that the bits do not depend on the thread count.
constexpr int64_t kPanelRows = 64;
// Multiply-adds worth a thread of their own.
constexpr int64_t kWorkPerThread = 1 << 16;

int64_t BatchSize(const GemmProblem& p) {
  int64_t size = 1;
  for (int64_t d : p.batch) size *= d;
  return size;
}

const char* At(const void* data, int64_t elements, DType dtype) {
  return static_cast<const char*>(data) + elements * ItemSize(dtype);
}

// Offset of batch entry number `index` of an operand.
int64_t BatchOffset(const DimVector& batch, const DimVector& strides,
                    int64_t index) {
  int64_t offset = 0;
  for (int d = static_cast<int>(batch.size()) - 1; d >= 0; --d) {
    offset += index % batch[d] * strides[d];
    index /= batch[d];
  }
  return offset;
}

void RunPanel(const GemmProblem& p, GemmPanelFunction panel, int64_t entry,
              int64_t first_row, int64_t rows) {
  const int64_t a_offset = BatchOffset(p.batch, p.a.batch_strides, entry) +
                           first_row * p.a.row_stride;
  const int64_t b_offset = BatchOffset(p.batch, p.b.batch_strides, entry);
  panel({rows, p.n, p.k, At(p.a.data, a_offset, p.dtype), p.a.row_stride,
         p.a.column_stride, At(p.b.data, b_offset, p.dtype), p.b.row_stride,
         p.b.column_stride, p.bias,
         const_cast<char*>(At(p.c, (entry * p.m + first_row) * p.n, p.dtype))});
}

void RunPanels(const GemmProblem& p, GemmPanelFunction panel) {
  const int64_t panels = (p.m + kPanelRows - 1) / kPanelRows;
  const int64_t work =
      std::min(p.m, kPanelRows) * p.n * std::max<int64_t>(p.k, 1);
  const int64_t grain =
      std::max<int64_t>(1, kWorkPerThread / std::max<int64_t>(work, 1));
  parallel_for(
      0, BatchSize(p) * panels, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = i % panels * kPanelRows;
          RunPanel(p, panel, i / panels, row, std::min(kPanelRows, p.m - row));
        }
      });
}

// Whether the product is not better off with Eigen, which has loops for
// vectors and for the tiniest.
bool SuitsDoubleProduct(const GemmProblem& p) {
  constexpr int64_t kLeast = 4, kLeastWork = 512;
  return p.m >= kLeast && p.n >= kLeast && p.k >= kLeast &&
         p.m * p.n > kLeastWork / p.k;
}

// float64, in a piece for each thread: no bit depends on where pieces end.
void RunDoubles(const GemmProblem& p) {
  constexpr int64_t kLeastRows = 64, kLeastColumns = 96;
  const int64_t batch = BatchSize(p);
  const int64_t wanted = (GetNumThreads() + batch - 1) / batch;
  const int64_t down =
      std::clamp<int64_t>(p.m / kLeastRows, 1, std::max<int64_t>(wanted, 1));
  const int64_t across = std::clamp<int64_t>(
      p.n / kLeastColumns, 1, std::max<int64_t>(wanted / down, 1));
  const DoubleProductFunction run = FindDoubleProduct();
  const int64_t grain = std::max<int64_t>(
      1,
      kWorkPerThread / std::max<int64_t>(p.m * p.n / (down * across) * p.k, 1));
  parallel_for(
      0, batch * down * across, grain, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece) {
          const int64_t entry = piece / (down * across);
          const int64_t y = piece / across % down, x = piece % across;
          const int64_t row = p.m * y / down, column = p.n * x / across;
          DoubleProduct part;
          part.m = p.m * (y + 1) / down - row;
          part.n = p.n * (x + 1) / across - column;
          part.k = p.k;
          part.a = static_cast<const double*>(p.a.data) +
                   BatchOffset(p.batch, p.a.batch_strides, entry) +
                   row * p.a.row_stride;
          part.a_row = p.a.row_stride;
          part.a_column = p.a.column_stride;
          part.b = static_cast<const double*>(p.b.data) +
                   BatchOffset(p.batch, p.b.batch_strides, entry) +
                   column * p.b.column_stride;
          part.b_row = p.b.row_stride;
          part.b_column = p.b.column_stride;
          if (p.bias != nullptr)
            part.bias = static_cast<const double*>(p.bias) + column;
          part.c =
              static_cast<double*>(p.c) + (entry * p.m + row) * p.n + column;
          part.c_row = p.n;
          run(part);
        }
      });
}

// A dense float32 copy of an operand, along rows or columns as it is itself.
struct Wide {
  IntrusivePtr<Storage> memory;
  GemmOperand x;
};

Wide Widen(DType dtype, const DimVector& batch, const GemmOperand& x,
           int64_t rows, int64_t columns) {
  const bool by_columns = x.row_stride == 1 && x.column_stride != 1;
  const int64_t lines = by_columns ? columns : rows;
  const int64_t length = by_columns ? rows : columns;
  const int64_t stride = by_columns ? x.column_stride : x.row_stride;
  const int64_t step = by_columns ? x.row_stride : x.column_stride;
  Wide wide;
  wide.x.row_stride = by_columns ? 1 : length;
  wide.x.column_stride = by_columns ? length : 1;
  wide.x.batch_strides.resize(batch.size());
  int64_t entries = 1;
  for (int d = static_cast<int>(batch.size()) - 1; d >= 0; --d) {
    wide.x.batch_strides[d] = entries * lines * length;
    entries *= batch[d];
  }
  wide.memory = Storage::Allocate(
      entries * lines * length * static_cast<int64_t>(sizeof(float)), Place());
  wide.x.data = wide.memory->data();
  auto* const out = static_cast<float*>(wide.memory->data());
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / length);
  parallel_for(0, entries * lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t l = begin; l < end; ++l) {
      const int64_t offset =
          BatchOffset(batch, x.batch_strides, l / lines) + l % lines * stride;
      const auto convert = [&](int64_t from, int64_t to, int64_t n) {
        cpu::Convert(dtype, At(x.data, offset + from, dtype), DType::kFloat32,
                     out + l * length + to, n);
      };
      if (step == 1) {
        convert(0, 0, length);
      } else {
        for (int64_t i = 0; i < length; ++i) convert(i * step, i, 1);
      }
    }
  });
  return wide;
}

// The 16-bit floats where no kernel has them: computed in float32.
void GemmInFloat(const GemmProblem& p) {
  const Wide a = Widen(p.dtype, p.batch, p.a, p.m, p.k);
  const Wide b = Widen(p.dtype, p.batch, p.b, p.k, p.n);
  GemmProblem wide = p;
  wide.dtype = DType::kFloat32;
  wide.float_result = false;
  wide.a = a.x;
  wide.b = b.x;
  if (p.float_result) return Gemm(wide);
  std::vector<float> bias(p.bias != nullptr ? p.n : 0);
  if (p.bias != nullptr)
    cpu::Convert(p.dtype, p.bias, DType::kFloat32, bias.data(), p.n);
  const int64_t size = BatchSize(p) * p.m * p.n;
  const IntrusivePtr<Storage> c =
      Storage::Allocate(size * static_cast<int64_t>(sizeof(float)), Place());
  wide.bias = p.bias != nullptr ? bias.data() : nullptr;
  wide.c = c->data();
  Gemm(wide);
  cpu::ConvertInParallel(DType::kFloat32, c->data(), p.dtype, p.c, size);
}

// Without a product to compute: zeros or the bias.
void FillWithoutProduct(const GemmProblem& p) {
  const int64_t rows = BatchSize(p) * p.m;
  const int64_t row_bytes = p.n * ItemSize(p.ResultType());
  for (int64_t i = 0; i < rows; ++i) {
    char* row = static_cast<char*>(p.c) + i * row_bytes;
    if (p.bias != nullptr) {
      std::memcpy(row, p.bias, row_bytes);
    } else {
      std::memset(row, 0, row_bytes);
    }
  }
}

bool IsTiny(const GemmProblem& p) {
  // Divisions instead of products: these never overflow.
  const int64_t limit = kTinyWork / BatchSize(p);
  return p.m <= limit && p.n <= limit / p.m && p.k <= limit / (p.m * p.n);
}

// A matrix times a vector, where both lie along k: what SuitsDotLines asks for.
struct LinesProblem {
  const GemmOperand *lines, *vector;
  int64_t count, step;
};

LinesProblem LinesOf(const GemmProblem& p) {
  if (p.n == 1) return {&p.a, &p.b, p.m, p.a.row_stride};
  return {&p.b, &p.a, p.n, p.b.column_stride};
}

bool SuitsDotLines(const GemmProblem& p) {
  constexpr int64_t kLeastSum = 64;  // shorter ones are tiny products
  return (p.m == 1 || p.n == 1) && p.a.column_stride == 1 &&
         p.b.row_stride == 1 && (p.k >= kLeastSum || !IsTiny(p));
}

// Long sums go in parts of one size, which are added up in order. In parts
// sums of integers wrap too.
template <typename T>
void RunDotLines(const GemmProblem& p) {
  constexpr int64_t kPart = 1 << 15;
  const LinesProblem l = LinesOf(p);
  const int64_t parts = (p.k + kPart - 1) / kPart;
  std::vector<T> sums(parts > 1 ? BatchSize(p) * l.count * parts : 0);
  T* const c = static_cast<T*>(p.c);
  T* const out = parts > 1 ? sums.data() : c;
  const DotLinesFunction<T> dot = FindDotLines<T>();
  // By entries, their lines and parts of these.
  const int64_t per_entry = l.count * parts;
  const int64_t grain =
      std::max<int64_t>(1, kWorkPerThread / std::min(p.k, kPart));
  parallel_for(0, BatchSize(p) * per_entry, grain, [&](int64_t b, int64_t e) {
    while (b < e) {
      const int64_t entry = b / per_entry, line = b % per_entry / parts;
      const int64_t part = b % parts;
      // Several whole lines, or a part of one.
      const int64_t count = parts > 1 ? 1 : std::min(l.count - line, e - b);
      const auto at = [&](const GemmOperand& x) {
        return static_cast<const T*>(x.data) +
               BatchOffset(p.batch, x.batch_strides, entry) + part * kPart;
      };
      dot(at(*l.lines) + line * l.step, l.step, at(*l.vector),
          std::min(kPart, p.k - part * kPart), count, out + b, 1);
      b += count;
    }
  });
  const auto add = [](T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  };
  const auto* bias = static_cast<const T*>(p.bias);
  for (int64_t i = 0; i < BatchSize(p) * l.count; ++i) {
    for (int64_t part = 0; parts > 1 && part < parts; ++part)
      c[i] = part == 0 ? sums[i * parts] : add(c[i], sums[i * parts + part]);
    if (bias != nullptr) c[i] = add(c[i], bias[p.n == 1 ? 0 : i % l.count]);
  }
}

// One row times a matrix whose rows lie as they are: a layer of a decoder,
// which reads its weight from memory for each word.
bool SuitsAddRows(const GemmProblem& p) {
  constexpr int64_t kLeastColumns = 64, kLeastWork = 1 << 16;
  return p.m == 1 && p.batch.empty() && p.b.column_stride == 1 &&
         p.n >= kLeastColumns && p.n >= kLeastWork / p.k;
}

// In pieces of columns, whose ends no bit depends on.
void RunAddRows(const GemmProblem& p) {
  constexpr int64_t kColumns = 64;
  const auto* const v = static_cast<const float*>(p.a.data);
  const auto* const rows = static_cast<const float*>(p.b.data);
  const auto* const bias = static_cast<const float*>(p.bias);
  auto* const c = static_cast<float*>(p.c);
  const AddRowsFunction add = FindAddRows();
  const int64_t grain = std::max<int64_t>(1, kWorkPerThread / (kColumns * p.k));
  parallel_for(0, (p.n + kColumns - 1) / kColumns, grain,
               [&](int64_t begin, int64_t end) {
                 const int64_t from = begin * kColumns;
                 const int64_t count = std::min(p.n, end * kColumns) - from;
                 if (bias != nullptr) {
                   std::copy_n(bias + from, count, c + from);
                 } else {
                   std::fill_n(c + from, count, 0.f);
                 }
                 add(rows + from, p.b.row_stride, v, p.a.column_stride, p.k,
                     count, c + from);
               });
}

// One column of C as one row, if B's columns then lie side by side: such
// products are faster.
void TurnColumnToRow(GemmProblem& p) {
  if (p.n != 1 || p.m == 1 || p.bias != nullptr || p.a.row_stride != 1 ||
      p.a.column_stride == 1) {
    return;
  }
  std::swap(p.a, p.b);
  std::swap(p.a.row_stride, p.a.column_stride);
  std::swap(p.b.row_stride, p.b.column_stride);
  std::swap(p.m, p.n);
}

}  // namespace

void SimplifyGemm(GemmProblem& p) {
  DimVector dims, a, b;  // innermost first
  for (int d = static_cast<int>(p.batch.size()) - 1; d >= 0; --d) {
    const int64_t size = p.batch[d];
    const int64_t as = p.a.batch_strides[d], bs = p.b.batch_strides[d];
    if (size == 1) continue;
    if (!dims.empty() && as == a.back() * dims.back() &&
        bs == b.back() * dims.back()) {
      dims.back() *= size;
    } else {
      dims.push_back(size);
      a.push_back(as);
      b.push_back(bs);
    }
  }
  // Rows of one entry go on in the next: one taller product.
  if (!dims.empty() && b.front() == 0 &&
      (p.m == 1 || a.front() == p.m * p.a.row_stride)) {
    if (p.m == 1) p.a.row_stride = a.front();
    p.m *= dims.front();
    dims.erase(dims.begin());
    a.erase(a.begin());
    b.erase(b.begin());
  }
  std::reverse(dims.begin(), dims.end());
  std::reverse(a.begin(), a.end());
  std::reverse(b.begin(), b.end());
  p.batch = std::move(dims);
  p.a.batch_strides = std::move(a);
  p.b.batch_strides = std::move(b);
}

void Gemm(GemmProblem& p) {
  for (int64_t d : p.batch)
    if (d == 0) return;
  if (p.m == 0 || p.n == 0) return;
  SimplifyGemm(p);
  if (p.k == 0) return FillWithoutProduct(p);
  switch (p.dtype) {
    case DType::kFloat32:
      if (IsTiny(p)) {
        if (SuitsDotLines(p)) return RunDotLines<float>(p);
        break;
      }
      TurnColumnToRow(p);
      if (SuitsDotLines(p)) return RunDotLines<float>(p);
      if (SuitsAddRows(p)) return RunAddRows(p);
      GemmOneDnn(p);
      return;
    case DType::kBFloat16:
      if (!SuitsBFloat16(p) || !GemmOneDnn(p)) GemmInFloat(p);
      return;
    case DType::kFloat16:
      return GemmInFloat(p);
    case DType::kFloat64:
      if (SuitsDoubleProduct(p)) return RunDoubles(p);
      if (SuitsDotLines(p)) return RunDotLines<double>(p);
      break;
    case DType::kInt32:
      if (SuitsDotLines(p)) return RunDotLines<int32_t>(p);
      break;
    case DType::kInt64:
      if (SuitsDotLines(p)) return RunDotLines<int64_t>(p);
      break;
    default:
      break;
  }
  RunPanels(p, FindGemmPanel(p.dtype));
}

void GemmThen(GemmProblem& p,
              absl::FunctionRef<void(const GemmPart& part)> done) {
  const int64_t rows = BatchSize(p) * p.m, columns = p.n;
  if (rows == 0 || columns == 0) return;
  SimplifyGemm(p);
  const bool has_pieces =
      p.dtype == DType::kFloat32 || p.dtype == DType::kBFloat16;
  if (has_pieces && p.m > 1 && p.n > 1 && p.k > 0 && !IsTiny(p) &&
      GemmInPieces(p, done)) {
    return;
  }
  Gemm(p);
  done({0, rows, 0, columns});
}

}  // namespace proa::inline v0::ops
