// Shape rules of linear systems and decompositions.
#include <algorithm>
#include <string>
#include <string_view>

#include "ops/infer.h"
#include "ops/linalg/linalg_infer.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

int64_t Smaller(int64_t a, int64_t b) {
  // 0 is the smaller one, whatever the other is; so is the same one.
  if (a == 0 || b == 0) return 0;
  if (a == b) return a;
  return IsUnknown(a) || IsUnknown(b) ? kUnknownDim : std::min(a, b);
}

int64_t RowsOf(const Tensor& x) { return x.size(x.rank() - 2); }
int64_t ColumnsOf(const Tensor& x) { return x.size(x.rank() - 1); }

Shape BatchOf(const Tensor& t) {
  return Shape(t.shape().span().first(t.rank() - 2));
}

Shape WithMatrix(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  batch.numel();  // throws if the product overflows
  return batch;
}

void RequireMatrix(const char* name, const Tensor& x, const Tensor& y) {
  PROA_REQUIRE(y.rank() >= 2, name, ": y must be [..., N, K]; it is ",
               Describe(y), ", x is ", Describe(x));
}

// [..., rows of x, K] of y, after checking that; `name` is the op to users.
Shape System(const char* name, const Tensor& x, const Tensor& y, int64_t rows) {
  RequireMatrix(name, x, y);
  PROA_REQUIRE(!Differ(RowsOf(x), RowsOf(y)), name, ": y must have ", RowsOf(x),
               " rows; x is ", Describe(x), ", y is ", Describe(y));
  Shape batch;
  try {
    batch = BroadcastShapes(name, BatchOf(x), BatchOf(y));
  } catch (const Error&) {
    FailArgument(name, ": the batch dims do not broadcast; x is ", Describe(x),
                 ", y is ", Describe(y));
  }
  return WithMatrix(batch, rows, ColumnsOf(y));
}

void CheckMode(const char* op, std::string_view mode) {
  PROA_REQUIRE(mode == "reduced" || mode == "complete" || mode == "r", op,
               ": mode is '", mode,
               "'; it must be 'reduced', 'complete' or 'r'");
}

}  // namespace

Shape solve(const char* op, const Tensor& x, const Tensor& y) {
  square(op, x);
  RequireMatrix(op, x, y);  // whose rows are asked for here already
  // Either size of x may be unknown.
  const int64_t n = IsUnknown(RowsOf(x)) ? ColumnsOf(x) : RowsOf(x);
  Shape out = System(op, x, y, IsUnknown(n) ? RowsOf(y) : n);
  PROA_REQUIRE(!Differ(n, RowsOf(y)), "solve: y must have ", n, " rows; x is ",
               Describe(x), ", y is ", Describe(y));
  return out;
}

Shape triangular_solve(const char* op, const Tensor& x, const Tensor& y) {
  square(op, x);
  RequireMatrix(op, x, y);
  const int64_t n = IsUnknown(RowsOf(x)) ? ColumnsOf(x) : RowsOf(x);
  Shape out = System(op, x, y, IsUnknown(n) ? RowsOf(y) : n);
  PROA_REQUIRE(!Differ(n, RowsOf(y)), op, ": y must have ", n, " rows; x is ",
               Describe(x), ", y is ", Describe(y));
  return out;
}

Shape lstsq(const char* op, const Tensor& x, const Tensor& y,
            std::string_view driver) {
  matrix(op, x);
  PROA_REQUIRE(driver == "gels" || driver == "gelsy" || driver == "gelsd" ||
                   driver == "gelss",
               op, ": driver is '", driver,
               "'; it must be 'gels', 'gelsy', 'gelsd' or 'gelss'");
  // Singular values are written in the type of what is computed, into a result
  // of the type of x.
  if ((driver == "gelsd" || driver == "gelss") &&
      RealType(x.dtype()) != RealType(promote(op, x, y))) {
    ThrowTypeError(std::string(op) + ": driver '" + std::string(driver) +
                   "' needs an x of the dtype of the result; cast x; x is " +
                   Describe(x) + ", y is " + Describe(y));
  }
  const Shape out = System(op, x, y, ColumnsOf(x));
  bool fits = out.rank() == x.rank();
  for (int d = 0; fits && d + 2 < x.rank(); ++d)
    fits = !Differ(out[d], x.size(d));
  PROA_REQUIRE(fits, op, ": the batch dims of y do not broadcast to those of ",
               "x; x is ", Describe(x), ", y is ", Describe(y));
  return out;
}

Shape lstsq_values(const char* op, const Tensor& x, std::string_view driver) {
  if (driver == "gelsd" || driver == "gelss") return matrix_smaller(op, x);
  const int64_t none[] = {0};
  return Shape(none);
}

Shape matrix(const char* op, const Tensor& x) {
  PROA_REQUIRE(x.rank() >= 2, op, ": x must be [..., M, N]; it is ",
               Describe(x));
  return x.shape();
}

Shape matrix_batch(const char* op, const Tensor& x) {
  matrix(op, x);
  return BatchOf(x);
}

Shape matrix_smaller(const char* op, const Tensor& x) {
  Shape out = matrix_batch(op, x);
  out.push_back(Smaller(RowsOf(x), ColumnsOf(x)));
  return out;
}

Shape lu_permutation(const char* op, const Tensor& pivots, int64_t rows) {
  PROA_REQUIRE(pivots.rank() >= 1, op, ": pivots must be [..., K]; it is ",
               Describe(pivots));
  const int64_t k = pivots.size(pivots.rank() - 1);
  PROA_REQUIRE(rows >= 0, op, ": rows must not be negative; it is ", rows,
               ", pivots is ", Describe(pivots));
  PROA_REQUIRE(IsUnknown(k) || k <= rows, op, ": ", k, " pivots are more than ",
               rows, " rows; pivots is ", Describe(pivots));
  return WithMatrix(Shape(pivots.shape().span().first(pivots.rank() - 1)), rows,
                    rows);
}

Shape qr_q(const char* op, const Tensor& x, std::string_view mode) {
  const Shape batch = matrix_batch(op, x);
  CheckMode(op, mode);
  if (mode == "r") {
    const int64_t none[] = {0};
    return Shape(none);
  }
  const int64_t m = RowsOf(x);
  return WithMatrix(batch, m,
                    mode == "complete" ? m : Smaller(m, ColumnsOf(x)));
}

Shape qr_r(const char* op, const Tensor& x, std::string_view mode) {
  const Shape batch = matrix_batch(op, x);
  CheckMode(op, mode);
  const int64_t m = RowsOf(x), n = ColumnsOf(x);
  return WithMatrix(batch, mode == "complete" ? m : Smaller(m, n), n);
}

Shape svd_u(const char* op, const Tensor& x, bool full_matrices) {
  const Shape batch = matrix_batch(op, x);
  const int64_t m = RowsOf(x);
  return WithMatrix(batch, m, full_matrices ? m : Smaller(m, ColumnsOf(x)));
}

Shape svd_vh(const char* op, const Tensor& x, bool full_matrices) {
  const Shape batch = matrix_batch(op, x);
  const int64_t n = ColumnsOf(x);
  return WithMatrix(batch, full_matrices ? n : Smaller(RowsOf(x), n), n);
}

Shape pinv(const char* op, const Tensor& x, const Tensor& rcond,
           bool hermitian) {
  if (hermitian) square(op, x);
  const Shape batch = matrix_batch(op, x);
  if (rcond.dtype() != DType::kFloat64) {
    ThrowTypeError(std::string(op) + ": rcond must be float64, not " +
                   Describe(rcond));
  }
  bool fits = rcond.rank() == 0 || rcond.rank() == batch.rank();
  for (int d = 0; fits && d < rcond.rank(); ++d)
    fits = !Differ(rcond.size(d), batch[d]);
  PROA_REQUIRE(fits, op, ": rcond must be 0-d or ", ToString(batch), "; it is ",
               Describe(rcond), ", x is ", Describe(x));
  return WithMatrix(batch, ColumnsOf(x), RowsOf(x));
}

Shape eigh(const char* op, const Tensor& x, std::string_view uplo) {
  square(op, x);
  PROA_REQUIRE(uplo == "L" || uplo == "U", op, ": UPLO is '", uplo,
               "'; it must be 'L' or 'U'");
  return x.shape();
}

Shape eigh_values(const char* op, const Tensor& x, std::string_view uplo) {
  eigh(op, x, uplo);
  return eig_values(op, x);
}

Shape eig_values(const char* op, const Tensor& x) {
  Shape out = square_batch(op, x);
  out.push_back(IsUnknown(RowsOf(x)) ? ColumnsOf(x) : RowsOf(x));
  return out;
}

DType eig_complex(const char*, const Tensor& x) {
  return RealType(x.dtype()) == DType::kFloat64 ? DType::kComplex128
                                                : DType::kComplex64;
}

}  // namespace proa::inline v0::ops::infer
