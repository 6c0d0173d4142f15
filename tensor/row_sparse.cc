#include "tensor/row_sparse.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0 {
namespace {

struct RowSparseParts final : LayoutData {
  RowSparseParts(const Tensor& r, const Tensor& v) : rows(r), values(v) {}
  Tensor ToStrided(const Tensor& t) const override {
    if (t.place().is_cpu()) return RowSparseToDense(t);
    return RowSparseToDense(MakeRowSparse(CopyTo(rows, Place{}),
                                          CopyTo(values, Place{}), t.size(0)));
  }
  const Tensor rows, values;
};

const RowSparseParts& PartsOf(const Tensor& t) {
  return static_cast<const RowSparseParts&>(*t.impl()->layout_data);
}

void CheckParts(const Tensor& rows, const Tensor& values, int64_t height) {
  PROA_REQUIRE(rows.defined() && values.defined(),
               "row_sparse: rows or values is None");
  PROA_REQUIRE(rows.storage() && values.storage() &&
                   rows.layout() == Layout::kStrided && rows.is_contiguous() &&
                   values.layout() == Layout::kStrided &&
                   values.is_contiguous(),
               "row_sparse: rows and values must be contiguous tensors with "
               "elements; rows is ",
               Describe(rows), ", values is ", Describe(values));
  PROA_REQUIRE(rows.rank() == 1 && rows.dtype() == DType::kInt64,
               "row_sparse: rows must be int64 of 1 dim; rows is ",
               Describe(rows));
  PROA_REQUIRE(
      values.rank() >= 1 && values.size(0) == rows.size(0),
      "row_sparse: values must have a first dim of the number of rows, ",
      rows.size(0), "; values is ", Describe(values));
  PROA_REQUIRE(rows.place() == values.place(),
               "row_sparse: rows and values lie in different places; rows is ",
               Describe(rows), ", values is ", Describe(values));
  PROA_REQUIRE(height >= 0, "row_sparse: height is ", height);
}

constexpr int64_t kGrain = 1 << 14;  // elements that are worth a thread

template <typename T>
using SumOf =
    std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;

template <typename T>
void AddTo(T& sum, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    sum = sum || value;
  } else if constexpr (std::is_integral_v<T>) {  // wraps
    using U = std::make_unsigned_t<T>;
    sum = static_cast<T>(static_cast<U>(sum) + static_cast<U>(value));
  } else {
    sum += value;
  }
}

// Positions of the rows in the order of the rows, equal ones in theirs.
std::vector<int64_t> SortedPositions(const Tensor& rows) {
  const int64_t* row = rows.data<int64_t>();
  std::vector<int64_t> at(rows.numel());
  std::iota(at.begin(), at.end(), 0);
  std::stable_sort(at.begin(), at.end(),
                   [row](int64_t a, int64_t b) { return row[a] < row[b]; });
  return at;
}

// Where runs of equal rows start in `at`, and its end.
std::vector<int64_t> Runs(const Tensor& rows, const std::vector<int64_t>& at) {
  const int64_t* row = rows.data<int64_t>();
  std::vector<int64_t> starts;
  for (size_t i = 0; i < at.size(); ++i) {
    if (i == 0 || row[at[i]] != row[at[i - 1]]) starts.push_back(i);
  }
  starts.push_back(static_cast<int64_t>(at.size()));
  return starts;
}

// to = the sum of the rows of `from` at positions `at`, in their order.
template <typename T>
void SumRows(std::span<const int64_t> at, const T* from, int64_t inner, T* to) {
  if (at.size() == 1) {
    std::copy_n(from + at[0] * inner, inner, to);
    return;
  }
  std::vector<SumOf<T>> wide;  // 16-bit floats are rounded once
  SumOf<T>* sum;
  if constexpr (std::is_same_v<SumOf<T>, T>) {
    sum = to;
  } else {
    wide.resize(inner);
    sum = wide.data();
  }
  for (size_t i = 0; i < at.size(); ++i) {
    const T* row = from + at[i] * inner;
    for (int64_t j = 0; j < inner; ++j) {
      if (i == 0) {
        sum[j] = static_cast<SumOf<T>>(row[j]);
      } else {
        AddTo(sum[j], static_cast<SumOf<T>>(row[j]));
      }
    }
  }
  for (size_t j = 0; j < wide.size(); ++j) to[j] = static_cast<T>(wide[j]);
}

int64_t InnerSize(const Tensor& values) {
  int64_t inner = 1;
  for (int i = 1; i < values.rank(); ++i) inner *= values.size(i);
  return inner;
}

bool StrictlyIncreasing(const Tensor& rows) {
  const int64_t* row = rows.data<int64_t>();
  for (int64_t i = 1; i < rows.numel(); ++i) {
    if (row[i] <= row[i - 1]) return false;
  }
  return true;
}

void FillZeros(const Tensor& t) {
  parallel_for(0, t.bytes(), kGrain * 16, [&](int64_t begin, int64_t end) {
    std::memset(t.data<char>() + begin, 0, end - begin);
  });
}

}  // namespace

Tensor MakeRowSparse(const Tensor& rows, const Tensor& values, int64_t height) {
  CheckParts(rows, values, height);
  CheckRows("row_sparse", rows, height);
  Shape shape = values.shape();
  shape[0] = height;
  Tensor out = Tensor::Symbolic(shape, values.dtype(), values.place());
  TensorImpl& impl = *out.impl();
  impl.layout = Layout::kRowSparse;
  impl.contiguous = false;
  impl.storage = values.storage();
  // Not the caller's handles: those may carry a history, or be changed.
  impl.layout_data =
      std::make_shared<RowSparseParts>(rows.Alias(), values.Alias());
  return out;
}

const Tensor& RowsOf(const Tensor& t) { return PartsOf(t).rows; }
const Tensor& ValuesOf(const Tensor& t) { return PartsOf(t).values; }

void CheckRows(const char* what, const Tensor& rows, int64_t height) {
  if (!rows.place().is_cpu()) return;
  const int64_t* row = rows.data<int64_t>();
  for (int64_t i = 0; i < rows.numel(); ++i) {
    if (row[i] < 0 || row[i] >= height) [[unlikely]] {
      Fail(absl::StatusCode::kOutOfRange, what, ": row ", row[i], " at [", i,
           "] is out of range for ", height, " rows");
    }
  }
}

Tensor MergeRows(const Tensor& t) {
  const Tensor &rows = RowsOf(t), &values = ValuesOf(t);
  CheckRows("merge_rows", rows, t.size(0));
  if (StrictlyIncreasing(rows)) return t;
  const std::vector<int64_t> at = SortedPositions(rows);
  const std::vector<int64_t> runs = Runs(rows, at);
  const int64_t count = static_cast<int64_t>(runs.size()) - 1;
  Shape shape = values.shape();
  shape[0] = count;
  const Tensor merged_rows = Tensor::Empty({count}, DType::kInt64);
  const Tensor merged = Tensor::Empty(shape, t.dtype());
  const int64_t inner = InnerSize(values);
  const int64_t grain =
      std::max<int64_t>(1, kGrain / std::max<int64_t>(1, inner));
  VisitDType(t.dtype(), [&]<typename T>(TypeTag<T>) {
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        merged_rows.data<int64_t>()[i] = rows.data<int64_t>()[at[runs[i]]];
        SumRows<T>({at.data() + runs[i], at.data() + runs[i + 1]},
                   values.data<T>(), inner, merged.data<T>() + i * inner);
      }
    });
  });
  return MakeRowSparse(merged_rows, merged, t.size(0));
}

Tensor RowSparseToDense(const Tensor& t) {
  const Tensor out = Tensor::Empty(t.shape(), t.dtype());
  if (out.numel() == 0) return out;
  const Tensor merged = MergeRows(t);
  const Tensor &rows = RowsOf(merged), &values = ValuesOf(merged);
  FillZeros(out);
  const int64_t row_bytes = out.bytes() / out.size(0);
  for (int64_t i = 0; i < rows.numel(); ++i) {
    std::memcpy(out.data<char>() + rows.data<int64_t>()[i] * row_bytes,
                values.data<char>() + i * row_bytes, row_bytes);
  }
  return out;
}

}  // namespace proa::inline v0
