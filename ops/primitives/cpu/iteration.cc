#include "ops/primitives/cpu/iteration.h"

#include <algorithm>
#include <utility>

#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::cpu {
namespace {

int64_t Abs(int64_t v) { return v < 0 ? -v : v; }

// True if dim `a` should be inside of dim `b`: its steps are shorter, looked at
// in the operands' order, the output first. Steps of zero say nothing.
bool BelongsInside(const IterationPlan& p, int a, int b) {
  for (int op = 0; op < p.num_operands; ++op) {
    const int64_t sa = Abs(p.strides[op][a]), sb = Abs(p.strides[op][b]);
    if (sa == 0 || sb == 0 || sa == sb) continue;
    return sa < sb;
  }
  return false;
}

void SwapDims(IterationPlan* p, int a, int b) {
  std::swap(p->dims[a], p->dims[b]);
  for (int op = 0; op < p->num_operands; ++op) {
    std::swap(p->strides[op][a], p->strides[op][b]);
  }
}

// Insertion sort: stable, and the usual input is sorted already.
void SortDims(IterationPlan* p) {
  for (int i = 1; i < p->rank; ++i) {
    for (int j = i; j > 0 && BelongsInside(*p, j, j - 1); --j) {
      SwapDims(p, j, j - 1);
    }
  }
}

bool Mergeable(const IterationPlan& p, int inner, int outer) {
  for (int op = 0; op < p.num_operands; ++op) {
    if (p.strides[op][outer] != p.strides[op][inner] * p.dims[inner]) {
      return false;
    }
  }
  return true;
}

void MergeDims(IterationPlan* p) {
  int last = 0;
  for (int d = 1; d < p->rank; ++d) {
    if (Mergeable(*p, last, d)) {
      p->dims[last] *= p->dims[d];
      continue;
    }
    if (++last == d) continue;
    p->dims[last] = p->dims[d];
    for (int op = 0; op < p->num_operands; ++op) {
      p->strides[op][last] = p->strides[op][d];
    }
  }
  p->rank = last + 1;
}

void Finish(IterationPlan* p) {
  if (p->rank == 0) {
    p->rank = 1;
    p->dims[0] = 1;
    for (int op = 0; op < p->num_operands; ++op) p->strides[op][0] = 0;
  } else if (p->rank > 1) {
    SortDims(p);
    MergeDims(p);
  }
}

// [first, last) bytes that the tensor's elements touch.
std::pair<const char*, const char*> Extent(const Tensor& t) {
  const int64_t size = ItemSize(t.dtype());
  const char* low = t.data<char>();
  const char* high = low + size;
  for (int d = 0; d < t.rank(); ++d) {
    const int64_t reach = (t.size(d) - 1) * t.strides()[d] * size;
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool SameElements(const Tensor& a, const Tensor& b) {
  if (a.raw_data() != b.raw_data() || a.dtype() != b.dtype() ||
      !(a.shape() == b.shape())) {
    return false;
  }
  for (int d = 0; d < a.rank(); ++d) {
    if (a.size(d) != 1 && a.strides()[d] != b.strides()[d]) return false;
  }
  return true;
}

}  // namespace

void PlanIteration(std::span<const Tensor* const> operands,
                   IterationPlan* plan) {
  const Tensor& out = *operands[0];
  plan->num_operands = static_cast<int>(operands.size());
  plan->numel = out.numel();
  int64_t item_size[kMaxOperands];
  for (int op = 0; op < plan->num_operands; ++op) {
    plan->data[op] = operands[op]->data<char>();
    item_size[op] = ItemSize(operands[op]->dtype());
  }
  int r = 0;
  for (int d = out.rank() - 1, from_last = 0; d >= 0; --d, ++from_last) {
    const int64_t size = out.size(d);
    if (size == 1) continue;
    plan->dims[r] = size;
    for (int op = 0; op < plan->num_operands; ++op) {
      const Tensor& t = *operands[op];
      const int own = t.rank() - 1 - from_last;
      plan->strides[op][r] =
          own < 0 || t.size(own) == 1 ? 0 : t.strides()[own] * item_size[op];
    }
    ++r;
  }
  plan->rank = r;
  Finish(plan);
}

void PlanIteration(std::span<const int64_t> dims, int num_operands,
                   char* const* data, const int64_t* const* strides,
                   IterationPlan* plan) {
  plan->num_operands = num_operands;
  plan->numel = 1;
  for (int op = 0; op < num_operands; ++op) plan->data[op] = data[op];
  int r = 0;
  for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
    plan->numel *= dims[d];
    if (dims[d] == 1) continue;
    plan->dims[r] = dims[d];
    for (int op = 0; op < num_operands; ++op) {
      plan->strides[op][r] = strides[op][d];
    }
    ++r;
  }
  plan->rank = r;
  Finish(plan);
}

bool OverlapsPartly(const Tensor& out, const Tensor& in) {
  if (out.numel() == 0 || in.numel() == 0) return false;
  const auto [out_low, out_high] = Extent(out);
  const auto [in_low, in_high] = Extent(in);
  if (in_high <= out_low || out_high <= in_low) return false;
  return !SameElements(out, in);
}

void RequireWritable(const IterationPlan& plan) {
  for (int d = 0; d < plan.rank; ++d) {
    PROA_REQUIRE(plan.strides[0][d] != 0 || plan.dims[d] == 1,
                 "elementwise: several elements of the output share memory (a "
                 "broadcast view); make a copy of it first");
  }
}

void IterationCursor::Seek(const IterationPlan& plan, int64_t position) {
  for (int op = 0; op < plan.num_operands; ++op) data[op] = plan.data[op];
  for (int d = 0; d < plan.rank; ++d) {
    const int64_t i = plan.rank == 1 ? position : position % plan.dims[d];
    position /= plan.dims[d];
    index[d] = i;
    for (int op = 0; op < plan.num_operands; ++op) {
      data[op] += i * plan.strides[op][d];
    }
  }
}

void IterationCursor::Advance(const IterationPlan& plan, int64_t n) {
  for (int op = 0; op < plan.num_operands; ++op) {
    data[op] += n * plan.strides[op][0];
  }
  index[0] += n;
  for (int d = 0; index[d] == plan.dims[d] && d + 1 < plan.rank; ++d) {
    index[d] = 0;
    ++index[d + 1];
    for (int op = 0; op < plan.num_operands; ++op) {
      data[op] += plan.strides[op][d + 1] - plan.dims[d] * plan.strides[op][d];
    }
  }
}

}  // namespace proa::inline v0::ops::cpu
