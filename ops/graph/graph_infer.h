// Rules of segments and graphs (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_GRAPH_GRAPH_INFER_H_
#define PROA_OPS_GRAPH_GRAPH_INFER_H_

#include <cstdint>
#include <span>

#include "ops/int_array.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// As many rows of x as there are segments, which only the ids know.
Shape segments(const char* op, const Tensor& x, const Tensor& segment_ids);
// A row of dy for each id.
Shape segment_rows(const char* op, const Tensor& dy, const Tensor& segment_ids);

// out_size rows of x, or as many as x has.
Shape graph_rows(const char* op, const Tensor& x, const Tensor& src_index,
                 const Tensor& dst_index, const IntArray& out_size);
Shape graph_rows_grad(const char* op, const Tensor& dy, const Tensor& src_index,
                      const Tensor& dst_index, const IntArray& shape);

// All elements in a row.
Shape flat(const char* op, const Tensor& x);
// As many as are drawn; all arguments of a graph are checked.
Shape some_neighbors(const char* op, const Tensor& row, const Tensor& colptr,
                     const Tensor& input_nodes, const Tensor& eids,
                     bool return_eids);
Shape some_edges(const char* op, const Tensor& row, const Tensor& colptr,
                 const Tensor& input_nodes, const Tensor& eids,
                 bool return_eids, std::span<const int64_t> sample_sizes);
Shape reindexed(const char* op, const Tensor& x, const Tensor& neighbors,
                const Tensor& count);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_GRAPH_GRAPH_INFER_H_
