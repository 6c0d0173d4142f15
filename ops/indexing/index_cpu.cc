// Kernels of NumPy's indexing with integer tensors. Where the indexed dims are
// neighbours and the index dims take their place, x is [outer, n, inner] and
// rows are moved (ops/primitives/cpu/gather.h). Else each element's offset is
// the sum of three: of the kept dims before the index dims, of the indices, of
// the dims behind.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "ops/indexing/index_kernels.h"
#include "ops/indexing/indexing_infer.h"
#include "ops/manipulation/slice_range.h"
#include "ops/primitives/cpu/gather.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "ops/primitives/item_size.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

// How the result [before..., index dims..., behind...] lies in a contiguous x.
struct IndexPlan {
  bool rows = false;  // x is [outer, n, inner] and `index` numbers rows of n
  int64_t outer = 1, n = 1, inner = 1;
  std::vector<int64_t> index;           // rows, or offsets in elements
  std::vector<int64_t> before, behind;  // offsets in elements, unless `rows`
};

// Offsets of all elements of the dims `dims` of a tensor.
std::vector<int64_t> OffsetsOf(const Shape& shape, const Strides& strides,
                               std::span<const int> dims) {
  std::vector<int64_t> offsets{0};
  for (int d : dims) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * shape[d]);
    for (int64_t base : offsets) {
      for (int64_t i = 0; i < shape[d]; ++i)
        next.push_back(base + i * strides[d]);
    }
    offsets.swap(next);
  }
  return offsets;
}

// Adds index * step of one index tensor, broadcast to `dims`, to `sums`.
void AddIndices(const char* op, const Tensor& index, const Shape& dims,
                int64_t n, int axis, int64_t step, std::vector<int64_t>* sums) {
  std::unique_ptr<IndexList> list;
  if (index.numel() > 0 || !sums->empty()) {
    list = std::make_unique<IndexList>(op, index, n, axis);
  } else {
    return;
  }
  if (index.shape() == dims) {
    for (size_t k = 0; k < sums->size(); ++k) (*sums)[k] += (*list)[k] * step;
    return;
  }
  const Strides own = ContiguousStrides(index.shape());
  const int shift = dims.rank() - index.rank();
  for (size_t k = 0; k < sums->size(); ++k) {
    int64_t rest = static_cast<int64_t>(k), at = 0;
    for (int d = dims.rank() - 1; d >= 0; --d) {
      const int64_t i = rest % dims[d];
      rest /= dims[d];
      if (d >= shift && index.size(d - shift) != 1) at += i * own[d - shift];
    }
    (*sums)[k] += (*list)[at] * step;
  }
}

IndexPlan PlanIndex(const char* op, const Shape& x,
                    std::span<const Tensor> indices,
                    std::span<const int64_t> axes, int64_t position) {
  const int rank = x.rank();
  const int at = infer::IndexPosition(op, x, axes, position);
  const Strides strides = ContiguousStrides(x);
  Shape dims = indices[0].shape();
  for (const Tensor& t : indices) dims = BroadcastShapes(op, dims, t.shape());
  IndexPlan plan;
  bool neighbours = true;
  uint64_t chosen = 0;
  std::vector<int> axis;
  for (size_t k = 0; k < axes.size(); ++k) {
    axis.push_back(NormalizeAxis(op, axes[k], rank));
    chosen |= uint64_t{1} << axis[k];
    neighbours &= axis[k] == axis[0] + static_cast<int>(k);
  }
  plan.rows = neighbours && at == axis[0];
  for (int d = 0; d < rank; ++d) {
    (d < axis[0]              ? plan.outer
     : (chosen >> d & 1) != 0 ? plan.n
                              : plan.inner) *= x[d];
  }
  plan.index.assign(dims.numel(), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    int64_t step = strides[axis[k]];
    if (plan.rows) {  // in rows of the indexed dims
      step = 1;
      for (size_t j = k + 1; j < axes.size(); ++j) step *= x[axis[j]];
    }
    AddIndices(op, indices[k], dims, x[axis[k]], axis[k], step, &plan.index);
  }
  if (plan.rows) return plan;
  std::vector<int> before, behind;
  for (int d = 0; d < rank; ++d) {
    if ((chosen >> d & 1) != 0) continue;
    (static_cast<int>(before.size()) < at ? before : behind).push_back(d);
  }
  if (x.numel() != 0) {
    plan.before = OffsetsOf(x, strides, before);
    plan.behind = OffsetsOf(x, strides, behind);
  }
  return plan;
}

// f(place in the result, offset in x), the index dims outermost, so that of
// several writes to one place the last index comes last.
template <typename F>
void ForEachPlace(const IndexPlan& plan, F f) {
  const int64_t count = static_cast<int64_t>(plan.index.size());
  const int64_t behind = static_cast<int64_t>(plan.behind.size());
  for (int64_t k = 0; k < count; ++k) {
    for (size_t p = 0; p < plan.before.size(); ++p) {
      const int64_t at = (static_cast<int64_t>(p) * count + k) * behind;
      const int64_t base = plan.before[p] + plan.index[k];
      for (int64_t j = 0; j < behind; ++j) f(at + j, base + plan.behind[j]);
    }
  }
}

// `value` broadcast to the shape of the indexed elements, contiguous.
Tensor Materialize(const Tensor& value, const Shape& shape) {
  if (value.shape() == shape && value.is_contiguous()) return value;
  const Tensor out = Tensor::Empty(shape, value.dtype(), value.place());
  CopyElements(value, out);
  return out;
}

void Take(const IndexPlan& plan, const Tensor& x, Tensor* out) {
  if (out->numel() == 0) return;
  const int64_t item_size = ItemSize(x.dtype());
  if (plan.rows) {
    return GatherRows(plan.outer, plan.n, plan.inner * item_size, plan.index,
                      x.raw_data(), out->raw_data());
  }
  VisitItemSize(item_size, [&]<typename T>(T) {
    const T* from = x.data<T>();
    T* to = out->data<T>();
    const int64_t count = static_cast<int64_t>(plan.index.size());
    const int64_t behind = static_cast<int64_t>(plan.behind.size());
    parallel_for(0, static_cast<int64_t>(plan.before.size()) * count,
                 std::max<int64_t>(1, 16384 / behind),
                 [&](int64_t b, int64_t e) {
                   for (int64_t r = b; r < e; ++r) {
                     const T* base =
                         from + plan.before[r / count] + plan.index[r % count];
                     T* row = to + r * behind;
                     for (int64_t j = 0; j < behind; ++j)
                       row[j] = base[plan.behind[j]];
                   }
                 });
  });
}

void AddAll(const IndexPlan& plan, const Tensor& value, Tensor* out) {
  if (value.numel() == 0) return;
  if (plan.rows) {
    return ScatterAddRows(out->dtype(), plan.outer, plan.n, plan.inner,
                          plan.index, value.raw_data(), out->raw_data());
  }
  // Elements as rows of one: their offsets are the index.
  std::vector<int64_t> places(value.numel());
  ForEachPlace(plan, [&](int64_t at, int64_t offset) { places[at] = offset; });
  ScatterAddRows(out->dtype(), 1, out->numel(), 1, places, value.raw_data(),
                 out->raw_data());
}

void Assign(const IndexPlan& plan, const Tensor& value, Tensor* out) {
  if (value.numel() == 0) return;
  const int64_t item_size = ItemSize(out->dtype());
  if (plan.rows) {
    return ScatterRows(plan.outer, plan.n, plan.inner * item_size, plan.index,
                       value.raw_data(), out->raw_data());
  }
  VisitItemSize(item_size, [&]<typename T>(T) {
    const T* from = value.data<T>();
    T* to = out->data<T>();
    ForEachPlace(plan,
                 [&](int64_t at, int64_t offset) { to[offset] = from[at]; });
  });
}

}  // namespace

void IndexGet(const KernelContext&, const Tensor& x,
              std::span<const Tensor> indices, std::span<const int64_t> axes,
              int64_t position, Tensor* out) {
  Take(PlanIndex("index_get", x.shape(), indices, axes, position), x, out);
}

void IndexGetGrad(const KernelContext&, const Tensor& dy,
                  std::span<const Tensor> indices, const IntArray&,
                  std::span<const int64_t> axes, int64_t position,
                  Tensor* out) {
  Zero(*out);
  AddAll(PlanIndex("index_get_grad", out->shape(), indices, axes, position), dy,
         out);
}

void IndexPut(const KernelContext&, const Tensor& x,
              std::span<const Tensor> indices, const Tensor& value,
              std::span<const int64_t> axes, int64_t position, bool accumulate,
              Tensor* out) {
  // Planned before anything is written: a bad index leaves x as it was.
  const IndexPlan plan =
      PlanIndex("index_put", x.shape(), indices, axes, position);
  const Tensor values = Materialize(
      value, infer::index_get("index_put", x, indices, axes, position));
  if (out->raw_data() != x.raw_data()) CopyElements(x, *out);
  if (accumulate) {
    AddAll(plan, values, out);
  } else {
    Assign(plan, values, out);
  }
}

void IndexPutValueGrad(const KernelContext&, const Tensor& dy,
                       std::span<const Tensor> indices,
                       std::span<const int64_t> axes, int64_t position,
                       Tensor* out) {
  const IndexPlan plan =
      PlanIndex("index_put_value_grad", dy.shape(), indices, axes, position);
  Take(plan, dy, out);
  if (out->numel() == 0) return;
  // Which of several indices of one place is the last does not depend on the
  // other dims.
  const std::vector<bool> last =
      LastWriters(plan.index, plan.rows ? plan.n : dy.numel());
  const int64_t count = static_cast<int64_t>(plan.index.size());
  const int64_t outer =
      plan.rows ? plan.outer : static_cast<int64_t>(plan.before.size());
  const int64_t row_bytes =
      (plan.rows ? plan.inner : static_cast<int64_t>(plan.behind.size())) *
      ItemSize(dy.dtype());
  for (int64_t r = 0; r < outer * count; ++r) {
    if (!last[r % count])
      std::memset(out->data<char>() + r * row_bytes, 0, row_bytes);
  }
}

void SliceSet(const KernelContext&, const Tensor& x, const Tensor& value,
              std::span<const int64_t> axes, std::span<const int64_t> starts,
              std::span<const int64_t> ends, std::span<const int64_t> strides,
              Tensor* out) {
  if (!out->is_same(x)) CopyElements(x, *out);
  const SlicePart part = ResolveSlices(
      "slice_set", out->shape(), out->strides(), axes, starts, ends, strides);
  CopyElements(value, out->AsStrided(part.shape, part.strides, part.offset));
}

}  // namespace proa::inline v0::ops::cpu
