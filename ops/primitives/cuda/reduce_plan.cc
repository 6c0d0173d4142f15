#include "ops/primitives/cuda/reduce_plan.h"

#include <algorithm>
#include <vector>

#include "ops/primitives/cuda/launch.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cuda {
namespace {

struct Dim {
  int64_t size, stride;
};

// dims[0] is the fastest; neighbours that are one run become one.
int64_t Fill(std::vector<Dim> dims, Offsets<1>* offsets) {
  size_t last = 0;
  int64_t n = 1;
  for (const Dim& d : dims) n *= d.size;
  if (n == 0) return 0;
  for (size_t i = 1; i < dims.size(); ++i) {
    if (dims[i].stride == dims[last].stride * dims[last].size) {
      dims[last].size *= dims[i].size;
    } else {
      dims[++last] = dims[i];
    }
  }
  if (!dims.empty()) dims.resize(last + 1);
  const int rank = static_cast<int>(dims.size());
  PROA_REQUIRE(rank <= kMaxDims && (rank <= 1 || n <= kMostPositions),
               "gpu: a reduction over ", n, " elements in ", rank,
               " dims that cannot be merged; make the tensor contiguous first");
  offsets->rank = std::max(1, rank);
  for (int d = 0; d < rank; ++d) {
    if (rank > 1) {
      offsets->dims[d] = Divider(static_cast<uint32_t>(dims[d].size));
    }
    offsets->strides[0][d] = dims[d].stride;
  }
  return n;
}

int64_t FastestStep(const Offsets<1>& offsets, int64_t n) {
  if (n <= 1) return INT64_MAX;
  int64_t least = INT64_MAX;
  for (int d = 0; d < offsets.rank; ++d) {
    const int64_t s = offsets.strides[0][d];
    if (s != 0) least = std::min(least, s < 0 ? -s : s);
  }
  return least;
}

}  // namespace

uint64_t ReducedAxes(const Tensor& x, std::span<const int64_t> axis) {
  const int rank = x.rank();
  if (rank == 0) return 0;
  if (axis.empty())
    return rank == 64 ? ~uint64_t{0} : (uint64_t{1} << rank) - 1;
  uint64_t axes = 0;
  for (const int64_t a : axis) axes |= uint64_t{1} << (a < 0 ? a + rank : a);
  return axes;
}

int64_t ReducedCount(const Tensor& x, uint64_t axes) {
  int64_t n = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if ((axes >> d & 1) != 0) n *= x.size(d);
  }
  return n;
}

ReducePlan PlanReduction(const Tensor& x, uint64_t axes) {
  std::vector<Dim> kept, reduced;
  const int64_t item = ItemSize(x.dtype());
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (x.size(d) == 1) continue;
    const bool fold = (axes >> d & 1) != 0;
    (fold ? reduced : kept).push_back({x.size(d), x.strides()[d] * item});
  }
  ReducePlan plan;
  plan.results = Fill(kept, &plan.kept);
  plan.count = Fill(reduced, &plan.reduced);
  plan.rows = FastestStep(plan.reduced, plan.count) <=
              FastestStep(plan.kept, plan.results);
  return plan;
}

}  // namespace proa::inline v0::ops::cuda
