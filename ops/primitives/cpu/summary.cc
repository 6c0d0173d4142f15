#include "ops/primitives/cpu/summary.h"

#include <cstdlib>

#include "tensor/shape.h"

namespace proa::inline v0::ops::PROA_ISA::summary {
namespace {

// Elements that one task takes in, at most.
constexpr int64_t kTask = 65536;
// Results of fewer elements are taken side by side whatever the strides: one by
// one they would cost more than their elements.
constexpr int64_t kShort = 64;

bool TakesColumns(const cpu::IterationPlan& kept,
                  const cpu::IterationPlan& reduced) {
  const int64_t kept_step = std::abs(kept.strides[1][0]);
  const int64_t reduced_step = std::abs(reduced.strides[0][0]);
  if (kept.dims[0] == 1) return false;
  if (reduced.numel <= kShort && kept.dims[0] >= kShort) return true;
  return kept_step != 0 && (reduced.dims[0] == 1 || reduced_step == 0 ||
                            kept_step < reduced_step);
}

}  // namespace

int64_t CountResults(const Tensor& x, uint64_t axes) {
  int64_t n = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (!(axes >> d & 1)) n *= x.size(d);
  }
  return n;
}

void MakeJob(const Tensor& x, uint64_t axes, DType compute, Job* job) {
  job->size = ItemSize(x.dtype());
  job->convert = FindConvert(x.dtype(), compute);
  DimVector kept, reduced, order, kept_strides, reduced_strides;
  for (int d = 0; d < x.rank(); ++d) {
    const bool r = (axes >> d & 1) != 0;
    (r ? reduced : kept).push_back(x.size(d));
    (r ? reduced_strides : kept_strides).push_back(x.strides()[d] * job->size);
  }
  order.resize(kept.size());
  int64_t step = 1;
  for (int d = static_cast<int>(kept.size()) - 1; d >= 0; --d) {
    order[d] = step;
    step *= kept[d];
  }
  char* data[] = {nullptr, x.data<char>()};
  const int64_t* kept_pair[] = {order.data(), kept_strides.data()};
  const int64_t* reduced_one[] = {reduced_strides.data()};
  cpu::PlanIteration(kept, 2, data, kept_pair, &job->kept);
  cpu::PlanIteration(reduced, 1, data + 1, reduced_one, &job->reduced);
  job->columns = TakesColumns(job->kept, job->reduced);
  const int64_t n = job->reduced.numel;
  if (job->columns) {
    job->width = std::min(kColumns, job->kept.dims[0]);
    job->task = std::max<int64_t>(64 * kRows, 2 * kTask / job->width);
    // Whole groups, see RowGroup.
    job->task -= job->task % RowGroup(*job);
  } else {
    job->width = std::clamp<int64_t>(kTask / n, 1, kColumns);
    job->task = kTask;
  }
  job->tasks = (n + job->task - 1) / job->task;
}

int64_t RowGroup(const Job& job) {
  const int64_t width = job.kept.dims[0];
  const bool dense = job.columns && job.convert == nullptr &&
                     job.reduced.rank == 1 &&
                     job.kept.strides[1][0] == job.size &&
                     job.reduced.strides[0][0] == width * job.size;
  return dense ? std::max<int64_t>(1, kColumns / width) : 1;
}

}  // namespace proa::inline v0::ops::PROA_ISA::summary
