#include "ops/graph/graph_infer.h"

#include <string>

#include "ops/infer.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

void RequireIds(const char* op, const char* name, const Tensor& t) {
  if (t.dtype() != DType::kInt32 && t.dtype() != DType::kInt64) {
    ThrowTypeError(std::string(op) + ": " + name +
                   " must be int32 or int64; it is " + Describe(t));
  }
  PROA_REQUIRE(t.rank() == 1, op, ": ", name, " must have 1 dim; it is ",
               Describe(t));
}

bool Differ(int64_t a, int64_t b) {
  return !IsUnknown(a) && !IsUnknown(b) && a != b;
}

void RequireEdges(const char* op, const Tensor& src, const Tensor& dst) {
  RequireIds(op, "src_index", src);
  RequireIds(op, "dst_index", dst);
  PROA_REQUIRE(!Differ(src.size(0), dst.size(0)), op,
               ": src_index and dst_index must be of one length; src_index is ",
               Describe(src), ", dst_index is ", Describe(dst));
}

// [n] or [n, 1], of the dtype of `like`.
void RequireColumn(const char* op, const char* name, const Tensor& t,
                   const char* like_name, const Tensor& like) {
  if (t.dtype() != like.dtype()) {
    ThrowTypeError(std::string(op) + ": " + name + " must have the dtype of " +
                   like_name + "; " + like_name + " is " + Describe(like) +
                   ", " + name + " is " + Describe(t));
  }
  PROA_REQUIRE(t.rank() == 1 || (t.rank() == 2 && !Differ(t.size(1), 1)), op,
               ": ", name, " must be [n] or [n, 1]; it is ", Describe(t));
}

}  // namespace

Shape segments(const char* op, const Tensor& x, const Tensor& segment_ids) {
  RequireIds(op, "segment_ids", segment_ids);
  PROA_REQUIRE(x.rank() > 0, op, ": x needs 1 dim or more; x is ", Describe(x));
  PROA_REQUIRE(!Differ(x.size(0), segment_ids.size(0)), op,
               ": segment_ids must be [", x.size(0), "] by x; x is ",
               Describe(x), ", segment_ids is ", Describe(segment_ids));
  Shape out = x.shape();
  out[0] = kUnknownDim;
  return out;
}

Shape segment_rows(const char* op, const Tensor& dy,
                   const Tensor& segment_ids) {
  RequireIds(op, "segment_ids", segment_ids);
  PROA_REQUIRE(dy.rank() > 0, op, ": dy needs 1 dim or more; dy is ",
               Describe(dy));
  Shape out = dy.shape();
  out[0] = segment_ids.size(0);
  return out;
}

Shape graph_rows(const char* op, const Tensor& x, const Tensor& src_index,
                 const Tensor& dst_index, const IntArray& out_size) {
  RequireEdges(op, src_index, dst_index);
  PROA_REQUIRE(x.rank() > 0, op, ": x needs 1 dim or more; x is ", Describe(x));
  const size_t given = out_size.values().size();
  PROA_REQUIRE(given <= 1 || given == static_cast<size_t>(x.rank()), op,
               ": out_size must be one number, or the shape of the result; "
               "there are ",
               given);
  Shape out = x.shape();
  if (!out_size.values().empty()) {
    const int64_t rows = out_size.values()[0];
    if (out_size.is_symbolic() && IsUnknown(rows)) {
      out[0] = kUnknownDim;
    } else if (rows > 0 || (rows == 0 && given > 1)) {
      // As one number 0 means "as x has"; a whole shape means what it says.
      out[0] = rows;
    }
  }
  out.numel();  // refuses what no number counts
  return out;
}

Shape graph_rows_grad(const char* op, const Tensor& dy, const Tensor& src_index,
                      const Tensor& dst_index, const IntArray& shape) {
  RequireEdges(op, src_index, dst_index);
  const Shape out = sizes(op, shape);
  bool fits = dy.rank() == out.rank() && dy.rank() > 0;
  for (int i = 1; fits && i < out.rank(); ++i) {
    fits = !Differ(dy.size(i), out[i]);
  }
  PROA_REQUIRE(fits, op, ": dy has no rows of x's shape ", ToString(out),
               "; dy is ", Describe(dy));
  return out;
}

Shape flat(const char*, const Tensor& x) { return {x.shape().numel()}; }

Shape some_neighbors(const char* op, const Tensor& row, const Tensor& colptr,
                     const Tensor& input_nodes, const Tensor& eids,
                     bool return_eids) {
  RequireColumn(op, "row", row, "row", row);
  RequireColumn(op, "colptr", colptr, "row", row);
  RequireColumn(op, "input_nodes", input_nodes, "row", row);
  PROA_REQUIRE(!return_eids || eids.defined(), op, ": return_eids needs eids");
  if (eids.defined()) {
    RequireColumn(op, "eids", eids, "row", row);
    PROA_REQUIRE(!Differ(eids.size(0), row.size(0)), op,
                 ": eids must be as many as row has; row is ", Describe(row),
                 ", eids is ", Describe(eids));
  }
  return {kUnknownDim};
}

Shape some_edges(const char* op, const Tensor& row, const Tensor& colptr,
                 const Tensor& input_nodes, const Tensor& eids,
                 bool return_eids, std::span<const int64_t> sample_sizes) {
  some_neighbors(op, row, colptr, input_nodes, eids, return_eids);
  PROA_REQUIRE(!sample_sizes.empty(), op, ": sample_sizes is empty");
  return {kUnknownDim, 1};
}

Shape reindexed(const char* op, const Tensor& x, const Tensor& neighbors,
                const Tensor& count) {
  RequireColumn(op, "x", x, "x", x);
  RequireColumn(op, "neighbors", neighbors, "x", x);
  if (count.dtype() != DType::kInt32 && count.dtype() != DType::kInt64) {
    ThrowTypeError(std::string(op) + ": count must be int32 or int64; it is " +
                   Describe(count));
  }
  RequireColumn(op, "count", count, "count", count);
  return {kUnknownDim};
}

}  // namespace proa::inline v0::ops::infer
