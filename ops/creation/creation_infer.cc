#include "ops/creation/creation_infer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ops/infer.h"
#include "tensor/error.h"
#include "tensor/promotion.h"

namespace proa::inline v0::ops::infer {
namespace {

bool IsIntegral(const Scalar& s) { return s.is_integer() || s.is_bool(); }

// Rows of a triangle whose edge moves by one column a row: how many columns all
// rows hold together, without a loop over rows that may be very many.
int64_t TriangleSize(const char* op, int64_t rows, int64_t cols, int64_t offset,
                     bool lower) {
  if (rows == 0 || cols == 0) return 0;
  // Columns that row i holds from the left: clamp(i + shift, 0, cols). Two sums
  // of 127 bits: a row or column number is below 2^63.
  const __int128 shift = static_cast<__int128>(offset) + (lower ? 1 : 0);
  const __int128 first =
      std::clamp<__int128>(-shift, 0, rows);  // first with any
  const __int128 full =
      std::clamp<__int128>(cols - shift, first, rows);  // first with all
  const __int128 rising = full - first;
  const __int128 left = rising * (first + shift) + rising * (rising - 1) / 2 +
                        (rows - full) * static_cast<__int128>(cols);
  const __int128 all = static_cast<__int128>(rows) * cols;
  const __int128 size = lower ? left : all - left;
  if (size > std::numeric_limits<int64_t>::max()) {
    FailArgument(op, ": size overflows int64");
  }
  return static_cast<int64_t>(size);
}

}  // namespace

DType default_dtype(const char* op, const Scalar& value,
                    std::optional<DType> dtype) {
  if (dtype.has_value()) return *dtype;
  return value.is_complex() ? ComplexType(DefaultDType()) : DefaultDType();
}

DType integer_dtype(const char* op, std::optional<DType> dtype) {
  return dtype.value_or(DType::kInt64);
}

DType arange_dtype(const char* op, const Scalar& start,
                   const std::optional<Scalar>& end, const Scalar& step,
                   std::optional<DType> dtype) {
  if (dtype.has_value()) return *dtype;
  const bool integral = IsIntegral(start) && IsIntegral(step) &&
                        (!end.has_value() || IsIntegral(*end));
  return integral ? DType::kInt64 : DefaultDType();
}

Shape arange(const char* op, const Scalar& start,
             const std::optional<Scalar>& end, const Scalar& step,
             std::optional<DType>) {
  const Scalar from = end.has_value() ? start : Scalar(int64_t{0});
  const Scalar to = end.has_value() ? *end : start;
  if (from.is_complex() || to.is_complex() || step.is_complex()) {
    ThrowTypeError(std::string(op) + ": complex numbers have no order");
  }
  if (IsIntegral(from) && IsIntegral(to) && IsIntegral(step)) {
    const __int128 a = from.to<int64_t>(), b = to.to<int64_t>(),
                   s = step.to<int64_t>();
    PROA_REQUIRE(s != 0, op, ": step is zero");
    const __int128 length = s > 0 ? b - a : a - b, stride = s > 0 ? s : -s;
    const __int128 n = length <= 0 ? 0 : (length + stride - 1) / stride;
    if (n > std::numeric_limits<int64_t>::max()) {
      FailArgument(op, ": size overflows int64");
    }
    return {static_cast<int64_t>(n)};
  }
  const double a = from.to<double>(), b = to.to<double>(),
               s = step.to<double>();
  PROA_REQUIRE(std::isfinite(a) && std::isfinite(b) && std::isfinite(s), op,
               ": start, end and step must be finite; they are ", a, ", ", b,
               " and ", s);
  PROA_REQUIRE(s != 0, op, ": step is zero");
  const double n = std::ceil((b - a) / s);
  PROA_REQUIRE(n < 0x1p62, op, ": size overflows int64; there are ", n,
               " steps from ", a, " to ", b);
  return {n > 0 ? static_cast<int64_t>(n) : 0};
}

Shape linspace(const char* op, const Scalar& start, const Scalar& stop,
               int64_t num) {
  if (start.is_complex() || stop.is_complex()) {
    ThrowTypeError(std::string(op) + ": complex numbers are not supported");
  }
  const double a = start.to<double>(), b = stop.to<double>();
  PROA_REQUIRE(std::isfinite(a) && std::isfinite(b), op,
               ": start and stop must be finite; they are ", a, " and ", b);
  PROA_REQUIRE(num >= 0, op, ": num is ", num, "; it must not be negative");
  return {num};
}

Shape eye(const char* op, int64_t num_rows,
          std::optional<int64_t> num_columns) {
  PROA_REQUIRE(num_rows >= 0, op, ": num_rows is ", num_rows,
               "; it must not be negative");
  const int64_t columns = num_columns.value_or(num_rows);
  PROA_REQUIRE(columns >= 0, op, ": num_columns is ", columns,
               "; it must not be negative");
  return {num_rows, columns};
}

int64_t TriangleColumns(int64_t i, int64_t cols, int64_t offset, bool lower) {
  const __int128 left = static_cast<__int128>(i) + offset + (lower ? 1 : 0);
  const int64_t n = static_cast<int64_t>(std::clamp<__int128>(left, 0, cols));
  return lower ? n : cols - n;
}

Shape triangle_indices(const char* op, int64_t row, int64_t col, int64_t offset,
                       bool lower) {
  PROA_REQUIRE(row >= 0, op, ": row is ", row, "; it must not be negative");
  PROA_REQUIRE(col >= 0, op, ": col is ", col, "; it must not be negative");
  return {2, TriangleSize(op, row, col, offset, lower)};
}

Shape randint(const char* op, int64_t low, std::optional<int64_t> high,
              const IntArray& shape, std::optional<DType> dtype) {
  const int64_t from = high.has_value() ? low : 0, to = high.value_or(low);
  PROA_REQUIRE(from < to, op, ": low ", from, " is not below high ", to);
  VisitDType(dtype.value_or(DType::kInt64), [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Limits = std::numeric_limits<T>;
      PROA_REQUIRE(from >= static_cast<int64_t>(Limits::min()), op, ": low ",
                   from, " does not fit in ", Name(kDTypeOf<T>));
      PROA_REQUIRE(to - 1 <= static_cast<int64_t>(Limits::max()), op,
                   ": values up to ", to - 1, " do not fit in ",
                   Name(kDTypeOf<T>));
    }
  });
  return sizes(op, shape);
}

Shape randperm(const char* op, int64_t n) {
  PROA_REQUIRE(n >= 0, op, ": n is ", n, "; it must not be negative");
  return {n};
}

Shape multinomial(const char* op, const Tensor& x, int64_t num_samples,
                  bool replacement) {
  PROA_REQUIRE(x.rank() == 1 || x.rank() == 2, op,
               ": x must have 1 or 2 dims; x is ", Describe(x));
  PROA_REQUIRE(num_samples > 0, op, ": num_samples is ", num_samples,
               "; it must be positive");
  const int64_t n = x.size(x.rank() - 1);
  PROA_REQUIRE(n != 0, op, ": there are no weights to draw from; x is ",
               Describe(x));
  PROA_REQUIRE(replacement || IsUnknown(n) || num_samples <= n, op, ": ",
               num_samples, " samples without replacement of ", n,
               " weights; x is ", Describe(x));
  if (x.rank() == 1) return {num_samples};
  return {x.size(0), num_samples};
}

}  // namespace proa::inline v0::ops::infer
