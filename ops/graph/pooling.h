// Sums and extremes of groups of rows: what is under segments and messages of
// graphs. Each element is made by one thread, from rows in their order, so
// results are the same bits for any number of threads.
#ifndef PROA_OPS_GRAPH_POOLING_H_
#define PROA_OPS_GRAPH_POOLING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ops/graph/pool_row.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::cpu {

// Which rows of a source belong to which row of the result: to row targets[k]
// those at rows[starts[k]], ..., rows[starts[k + 1] - 1]; none to others.
struct RowGroups {
  std::vector<int64_t> starts;   // one more than groups
  std::vector<int64_t> rows;     // none: row i is i
  std::vector<int64_t> targets;  // none: that of group k is k

  int64_t size() const { return static_cast<int64_t>(starts.size()) - 1; }
  int64_t count(int64_t k) const { return starts[k + 1] - starts[k]; }
  int64_t target(int64_t k) const { return targets.empty() ? k : targets[k]; }
};

// How many segments there are by ids that rise from 0: as many as the last one
// says. Throws Error for ids that are negative, fall, or are absurd.
int64_t CountSegments(const char* op, const Tensor& segment_ids);
// Those that have rows, by such ids.
RowGroups GroupsOfSegments(const Tensor& segment_ids);

// sources[e] belongs to group targets[e] of n, in the order of e.
RowGroups GroupsOfEdges(std::span<const int64_t> sources,
                        std::span<const int64_t> targets, int64_t n);

// The rows of out, one a group, from those of x; both contiguous, of one dtype.
// Sums are made in double (int64); an empty group gives zeros.
void PoolRows(Pool pool, const RowGroups& groups, const Tensor& x, Tensor* out);

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_GRAPH_POOLING_H_
