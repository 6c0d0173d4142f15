#include "ops/sparse/sparse_infer.h"

#include <string>

#include "ops/infer.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

constexpr int64_t kMostPlaces = 1 << 20;
constexpr int64_t kMostSteps = 2147483647;

void RequireIntegers(const char* op, const char* name, const Tensor& t) {
  if (t.dtype() != DType::kInt32 && t.dtype() != DType::kInt64) {
    ThrowTypeError(std::string(op) + ": " + name +
                   " must be int32 or int64; it is " + Describe(t));
  }
}

void RequireList(const char* op, const char* name, const Tensor& t) {
  RequireIntegers(op, name, t);
  PROA_REQUIRE(t.rank() == 1, op, ": ", name, " must have 1 dim; it is ",
               Describe(t));
}

// [shape.rank(), count].
void RequireIndices(const char* op, const char* name, const Tensor& indices,
                    const Shape& shape) {
  RequireIntegers(op, name, indices);
  PROA_REQUIRE(indices.rank() == 2 && !Differ(indices.size(0), shape.rank()),
               op, ": ", name, " must be [", shape.rank(),
               ", count] by the shape ", ToString(shape), "; it is ",
               Describe(indices));
}

Shape MatrixShape(const char* op, const IntArray& shape) {
  const Shape out = sizes(op, shape);
  PROA_REQUIRE(out.rank() == 2 || out.rank() == 3, op,
               ": shape must be [rows, columns] or [batch, rows, columns]; it "
               "is ",
               ToString(out));
  return out;
}

// How many crows matrices of this shape have.
int64_t CrowsOf(const Shape& shape) {
  const int64_t rows = shape[shape.rank() - 2];
  const int64_t batch = shape.rank() == 3 ? shape[0] : 1;
  if (IsUnknown(rows) || IsUnknown(batch)) return kUnknownDim;
  return CheckedMul(batch, CheckedAdd(rows, 1));
}

void RequireRows(const char* op, const Tensor& crows, const Tensor& cols,
                 const Shape& shape) {
  RequireList(op, "crows", crows);
  RequireList(op, "cols", cols);
  PROA_REQUIRE(!Differ(crows.size(0), CrowsOf(shape)), op, ": crows must have ",
               CrowsOf(shape), " numbers by the shape ", ToString(shape),
               "; it is ", Describe(crows));
}

// A dense [rows, n], or [batch, rows, n], beside a sparse `shape`.
void RequireDense(const char* op, const char* name, const Tensor& t,
                  const Shape& shape, int64_t rows) {
  const int rank = shape.rank();
  const bool fits = t.rank() == rank && !Differ(t.size(rank - 2), rows) &&
                    (rank == 2 || !Differ(t.size(0), shape[0]));
  const std::string batch =
      rank == 3 ? ToString(Shape{shape[0]}).substr(1) : "";
  PROA_REQUIRE(fits, op, ": ", name, " must be [",
               rank == 3 ? batch.substr(0, batch.size() - 1) + ", " : "", rows,
               ", n]; it is ", Describe(t));
}

void RequirePairs(const char* op, const Tensor& source, const Tensor& target,
                  const Tensor& counts) {
  RequireList(op, "source", source);
  RequireList(op, "target", target);
  RequireList(op, "counts", counts);
  PROA_REQUIRE(!Differ(source.size(0), target.size(0)), op,
               ": source and target must be of one length; source is ",
               Describe(source), ", target is ", Describe(target));
}

void RequireNumbers(const char* op, const char* name,
                    std::span<const int64_t> list, int64_t count,
                    int64_t least) {
  PROA_REQUIRE(static_cast<int64_t>(list.size()) == count, op, ": ", name,
               " must have ", count, " numbers by the image; it has ",
               list.size());
  for (const int64_t n : list) {
    PROA_REQUIRE(n >= least && n <= kMostSteps, op, ": ", name, " has ", n,
                 "; each must be ", least, " to ", kMostSteps);
  }
}

}  // namespace

Shape coo_indices(const char* op, const Tensor& indices,
                  const IntArray& shape) {
  RequireIndices(op, "indices", indices, sizes(op, shape));
  return indices.shape();
}

Shape coo_distinct(const char* op, const Tensor& indices,
                   const IntArray& shape) {
  coo_indices(op, indices, shape);
  return {indices.size(0), kUnknownDim};
}

Shape coo_count(const char* op, const Tensor& indices, const IntArray& shape) {
  coo_indices(op, indices, shape);
  return {indices.size(1)};
}

Shape crows_of(const char* op, const Tensor& indices, const IntArray& shape) {
  const Shape matrix = MatrixShape(op, shape);
  RequireIndices(op, "indices", indices, matrix);
  return {CrowsOf(matrix)};
}

Shape csr_indices(const char* op, const Tensor& crows, const Tensor& cols,
                  const IntArray& shape) {
  const Shape matrix = MatrixShape(op, shape);
  RequireRows(op, crows, cols, matrix);
  return {matrix.rank(), cols.size(0)};
}

Shape coo_product(const char* op, const Tensor& x_indices,
                  const Tensor& y_indices, const IntArray& x_shape,
                  const IntArray& y_shape) {
  const Shape x = MatrixShape(op, x_shape), y = MatrixShape(op, y_shape);
  const int rank = x.rank();
  PROA_REQUIRE(y.rank() == rank && (rank == 2 || !Differ(x[0], y[0])), op,
               ": x and y must be two matrices or two batches of one size; the "
               "shapes are ",
               ToString(x), " and ", ToString(y));
  PROA_REQUIRE(!Differ(x[rank - 1], y[rank - 2]), op, ": x has ", x[rank - 1],
               " columns, y ", y[rank - 2], " rows; they must be equal");
  RequireIndices(op, "x_indices", x_indices, x);
  RequireIndices(op, "y_indices", y_indices, y);
  return {rank, kUnknownDim};
}

Shape some_pairs(const char*) { return {kUnknownDim}; }

Shape csr_matmul(const char* op, const Tensor& values, const Tensor& crows,
                 const Tensor& cols, const Tensor& y, const IntArray& shape,
                 bool transpose) {
  const Shape matrix = MatrixShape(op, shape);
  const int rank = matrix.rank();
  RequireRows(op, crows, cols, matrix);
  PROA_REQUIRE(values.rank() == 1 && !Differ(values.size(0), cols.size(0)), op,
               ": values must be [", cols.size(0), "] by cols; it is ",
               Describe(values));
  const int64_t rows = matrix[transpose ? rank - 1 : rank - 2];
  RequireDense(op, "y", y, matrix, matrix[transpose ? rank - 2 : rank - 1]);
  Shape out = y.shape();
  out[rank - 2] = rows;
  return out;
}

Shape csr_sampled_matmul(const char* op, const Tensor& x, const Tensor& y,
                         const Tensor& crows, const Tensor& cols,
                         const IntArray& shape) {
  const Shape matrix = MatrixShape(op, shape);
  const int rank = matrix.rank();
  RequireRows(op, crows, cols, matrix);
  RequireDense(op, "x", x, matrix, matrix[rank - 2]);
  RequireDense(op, "y", y, matrix, matrix[rank - 1]);
  PROA_REQUIRE(!Differ(x.size(rank - 1), y.size(rank - 1)), op, ": y must be [",
               matrix[rank - 1], ", ", x.size(rank - 1), "]; it is ",
               Describe(y));
  return {cols.size(0)};
}

Shape grouped(const char* op, const Tensor& x, const Tensor& segment_ids) {
  RequireList(op, "segment_ids", segment_ids);
  PROA_REQUIRE(x.rank() > 0, op, ": x needs 1 dim or more; x is ", Describe(x));
  PROA_REQUIRE(!Differ(x.size(0), segment_ids.size(0)), op,
               ": segment_ids must be [", x.size(0), "] by x; x is ",
               Describe(x), ", segment_ids is ", Describe(segment_ids));
  return x.shape();
}

Shape window_places(const char* op, const Tensor& indices,
                    const IntArray& shape, std::span<const int64_t> window,
                    std::span<const int64_t> strides,
                    std::span<const int64_t> paddings,
                    std::span<const int64_t> dilations, bool submanifold) {
  const Shape image = sizes(op, shape);
  PROA_REQUIRE(image.rank() >= 2, op,
               ": shape must be [batch, sizes...]; it is ", ToString(image));
  RequireIndices(op, "indices", indices, image);
  const int dims = image.rank() - 1;
  RequireNumbers(op, "window", window, dims, 1);
  RequireNumbers(op, "strides", strides, dims, 1);
  RequireNumbers(op, "paddings", paddings, 2 * dims, 0);
  RequireNumbers(op, "dilations", dilations, dims, 1);
  int64_t places = 1;
  for (int d = 0; d < dims; ++d) {
    places = CheckedMul(places, window[d]);
    if (IsUnknown(image[d + 1])) continue;
    const int64_t padded = CheckedAdd(
        image[d + 1], CheckedAdd(paddings[2 * d], paddings[2 * d + 1]));
    const int64_t covered = dilations[d] * (window[d] - 1) + 1;
    PROA_REQUIRE(covered <= padded, op, ": the window covers ", covered,
                 " elements of dim ", d + 1, ", of which there are ", padded,
                 " with paddings");
    const int64_t size = (padded - covered) / strides[d] + 1;
    PROA_REQUIRE(!submanifold || size == image[d + 1], op,
                 ": with submanifold the result must be of the size of the "
                 "image, ",
                 image[d + 1], "; it is ", size, " at dim ", d + 1);
    PROA_REQUIRE(!submanifold || strides[d] == 1, op,
                 ": with submanifold strides must be 1; that of dim ", d + 1,
                 " is ", strides[d]);
  }
  PROA_REQUIRE(places <= kMostPlaces, op, ": a window of ", places, " places; ",
               kMostPlaces, " are possible");
  return {places};
}

Shape window_results(const char* op, const Tensor& indices,
                     const IntArray& shape, std::span<const int64_t> window,
                     std::span<const int64_t> strides,
                     std::span<const int64_t> paddings,
                     std::span<const int64_t> dilations, bool submanifold) {
  window_places(op, indices, shape, window, strides, paddings, dilations,
                submanifold);
  return {indices.size(0), submanifold ? indices.size(1) : kUnknownDim};
}

Shape rulebook_rows(const char* op, const Tensor& x, const Tensor& weight,
                    const Tensor& source, const Tensor& target,
                    const Tensor& counts, const IntArray& rows) {
  RequirePairs(op, source, target, counts);
  PROA_REQUIRE(x.rank() == 2, op, ": x must be [n, C]; it is ", Describe(x));
  PROA_REQUIRE(weight.rank() == 3 && !Differ(weight.size(1), x.size(1)), op,
               ": weight must be [K, ", x.size(1), ", M] by x; x is ",
               Describe(x), ", weight is ", Describe(weight));
  PROA_REQUIRE(!Differ(counts.size(0), weight.size(0)), op,
               ": counts must be [", weight.size(0), "] by weight; it is ",
               Describe(counts));
  const Shape given = sizes(op, rows);
  PROA_REQUIRE(given.rank() == 1 ||
                   (given.rank() == 2 && !Differ(given[1], weight.size(2))),
               op,
               ": rows must be one number, or the shape of the result; it "
               "is ",
               ToString(given));
  const Shape out = {given[0], weight.size(2)};
  out.numel();  // refuses what no number counts
  return out;
}

Shape rulebook_weights(const char* op, const Tensor& x, const Tensor& dy,
                       const Tensor& source, const Tensor& target,
                       const Tensor& counts) {
  RequirePairs(op, source, target, counts);
  PROA_REQUIRE(x.rank() == 2, op, ": x must be [n, C]; it is ", Describe(x));
  PROA_REQUIRE(dy.rank() == 2, op, ": dy must be [rows, M]; it is ",
               Describe(dy));
  return {counts.size(0), x.size(1), dy.size(1)};
}

}  // namespace proa::inline v0::ops::infer
