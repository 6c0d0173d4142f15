// Kernels of elementwise gather and scatter along one axis.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ops/indexing/along_axis_kernels.h"
#include "ops/primitives/cpu/gather.h"
#include "ops/primitives/cpu/strided_copy.h"
#include "ops/primitives/item_size.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kGrain = 8192;

Tensor Contiguous(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const Tensor copy = Tensor::Empty(t.shape(), t.dtype(), t.place());
  CopyElements(t, copy);
  return copy;
}

// Strides of `t` in a space of the same rank: zero where its dim is repeated.
Strides StridesIn(const Shape& space, const Shape& shape,
                  const Strides& strides) {
  Strides out(space.rank(), 0);
  const int shift = space.rank() - shape.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1) out[i + shift] = strides[i];
  }
  return out;
}

// The walk over an index space with, at each point, the offset of the value,
// the place in the list of indices and the offset of the line of `x` that is
// indexed.
struct Walk {
  Shape space;
  Strides value, index, x;
  int axis;
  int64_t step;  // of x along the axis

  Walk(const Shape& space_of, const Shape& value_shape,
       const Strides& value_strides, const Shape& index_shape,
       const Shape& x_shape, const Strides& x_strides, int64_t axis_of)
      : space(space_of),
        value(StridesIn(space_of, value_shape, value_strides)),
        index(StridesIn(space_of, index_shape, ContiguousStrides(index_shape))),
        x(StridesIn(space_of, x_shape, x_strides)),
        axis(NormalizeAxis("take_along_axis", axis_of, space_of.rank())),
        step(space_of.rank() == 0 ? 0 : x_strides[axis]) {
    if (space.rank() > 0) x[axis] = 0;
  }

  // Row-major order, f(value offset, index place, x offset).
  template <typename F>
  void Run(int dim, int64_t v, int64_t i, int64_t o, int cut, int64_t begin,
           int64_t end, F& f) const {
    if (dim == space.rank()) return f(v, i, o);
    const int64_t b = dim == cut ? begin : 0, e = dim == cut ? end : space[dim];
    v += b * value[dim];
    i += b * index[dim];
    o += b * x[dim];
    if (dim + 1 == space.rank()) {
      const int64_t dv = value[dim], di = index[dim], dx = x[dim];
      if (dv == 1 && di == 1 && dx == 0) {
        for (int64_t k = 0; k < e - b; ++k) f(v + k, i + k, o);
        return;
      }
      for (int64_t k = b; k < e; ++k, v += dv, i += di, o += dx) f(v, i, o);
      return;
    }
    for (int64_t k = b; k < e; ++k) {
      Run(dim + 1, v, i, o, cut, begin, end, f);
      v += value[dim];
      i += index[dim];
      o += x[dim];
    }
  }

  template <typename F>
  void Serial(F f) const {
    if (space.numel() > 0) Run(0, 0, 0, 0, -1, 0, 0, f);
  }

  // Threads share the longest dim for which `may_cut` holds.
  template <typename C, typename F>
  void Parallel(C may_cut, F f) const {
    int cut = -1;
    for (int d = 0; d < space.rank(); ++d) {
      if (may_cut(d) && (cut < 0 || space[d] > space[cut])) cut = d;
    }
    const int64_t total = space.numel();
    if (cut < 0 || total < 2 * kGrain) return Serial(f);
    const int64_t grain = std::max<int64_t>(1, kGrain / (total / space[cut]));
    parallel_for(0, space[cut], grain, [&](int64_t b, int64_t e) {
      F own = f;
      Run(0, 0, 0, 0, cut, b, e, own);
    });
  }

  // Each point of x is written from one place only if dims that x repeats, and
  // the axis, stay in one thread.
  bool OwnDestinations(int d) const { return d != axis && x[d] != 0; }
};

int64_t AxisSize(const Shape& shape, int64_t axis) {
  return shape.rank() == 0
             ? 1
             : shape[NormalizeAxis("along_axis", axis, shape.rank())];
}

int AxisOf(const Shape& shape, int64_t axis) {
  return NormalizeAxis("along_axis", axis, shape.rank());
}

// The index space of a put: what value is broadcast to.
Shape SpaceOf(const Shape& x, const Shape& indices, int64_t axis) {
  Shape space = indices;
  for (int i = 0; i < space.rank(); ++i) {
    if (i != AxisOf(x, axis) && space[i] == 1) space[i] = x[i];
  }
  return space;
}

// out = x, and then f at each point of the walk through it. Rows that were just
// copied are still in the cache: some of them at a time where each has its own
// points.
template <typename F>
void OnCopyOf(const Tensor& x, const Walk& walk, Tensor* out, F f) {
  const int64_t rows = out->shape().rank() < 2 ? 1 : out->shape()[0];
  if (rows <= 1 || !walk.OwnDestinations(0) || walk.space[0] != rows ||
      !x.is_contiguous()) {
    CopyElements(x, *out);
    return walk.Parallel([&](int d) { return walk.OwnDestinations(d); }, f);
  }
  constexpr int64_t kPieceBytes = 16384;
  const int64_t row = out->numel() / rows, bytes = row * ItemSize(x.dtype());
  const int64_t piece =
      std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, bytes));
  const char* const from = x.data<char>();
  char* const to = out->data<char>();
  const int64_t work = std::max(row, walk.space.numel() / rows);
  parallel_for(0, rows,
               std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t first = begin; first < end; first += piece) {
                   const int64_t last = std::min(end, first + piece);
                   if (from != to)
                     std::memcpy(to + first * bytes, from + first * bytes,
                                 (last - first) * bytes);
                   F own = f;
                   walk.Run(0, 0, 0, 0, 0, first, last, own);
                 }
               });
}

// out = x, out[...] = op(out[...], value) in the type of out; 16-bit floats in
// float32. x may be out.
template <typename Op>
void ReduceInto(const char* name, const Tensor& x, const Tensor& value,
                const Tensor& indices, int64_t axis, Tensor* out, Op op) {
  const Tensor flat = Contiguous(indices);
  const Shape space = SpaceOf(out->shape(), indices.shape(), axis);
  const Walk walk(space, value.shape(), value.strides(), indices.shape(),
                  out->shape(), ContiguousStrides(out->shape()), axis);
  const IndexList list(name, flat, AxisSize(out->shape(), axis),
                       AxisOf(out->shape(), axis));
  if (space.numel() == 0) return CopyElements(x, *out);
  const auto reduce = [&]<typename To, typename From>(const Tensor& start,
                                                      Tensor* result, To* to,
                                                      const From* v) {
    OnCopyOf(start, walk, result,
             [to, v, op, at = list.values().data(), step = walk.step](
                 int64_t a, int64_t i, int64_t o) {
               op(to[o + at[i] * step], v[a]);
             });
  };
  VisitDType(out->dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      return;  // not declared by any op that comes here
    } else if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
      const int64_t n = out->numel();
      CopyElements(x, *out);
      Tensor wide = Tensor::Empty(out->shape(), DType::kFloat32);
      float* w = wide.data<float>();
      std::copy_n(out->data<T>(), n, w);
      reduce(wide, &wide, w, value.data<T>());
      std::transform(w, w + n, out->data<T>(), [](float f) { return T(f); });
    } else {
      reduce(x, out, out->data<T>(), value.data<T>());
    }
  });
}

struct Add {
  template <typename A, typename B>
  void operator()(A& a, B b) const {
    if constexpr (std::is_integral_v<A>) {
      a = static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      a += static_cast<A>(b);
    }
  }
};

struct Multiply {
  template <typename A, typename B>
  void operator()(A& a, B b) const {
    if constexpr (std::is_integral_v<A>) {
      a = static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      a *= static_cast<A>(b);
    }
  }
};

}  // namespace

void TakeAlongAxis(const KernelContext&, const Tensor& x, const Tensor& indices,
                   int64_t axis, Tensor* out) {
  const Tensor flat = Contiguous(indices);
  const IndexList list("take_along_axis", flat, AxisSize(x.shape(), axis),
                       AxisOf(x.shape(), axis));
  const Walk walk(out->shape(), out->shape(), out->strides(), indices.shape(),
                  x.shape(), x.strides(), axis);
  VisitItemSize(ItemSize(x.dtype()), [&]<typename T>(T) {
    const T* from = x.data<T>();
    T* to = out->data<T>();
    walk.Parallel([](int) { return true; },
                  [from, to, at = list.values().data(), step = walk.step](
                      int64_t v, int64_t i, int64_t o) {
                    to[v] = from[o + at[i] * step];
                  });
  });
}

void TakeAlongAxisGrad(const KernelContext&, const Tensor& dy,
                       const Tensor& indices, const IntArray&, int64_t axis,
                       Tensor* out) {
  Zero(*out);
  ReduceInto("take_along_axis_grad", *out, dy, indices, axis, out, Add());
}

void PutAlongAxisAssign(const KernelContext&, const Tensor& x,
                        const Tensor& indices, const Tensor& value,
                        int64_t axis, Tensor* out) {
  const Tensor flat = Contiguous(indices);
  const IndexList list("put_along_axis_assign", flat, AxisSize(x.shape(), axis),
                       AxisOf(x.shape(), axis));
  const Walk walk(SpaceOf(x.shape(), indices.shape(), axis), value.shape(),
                  value.strides(), indices.shape(), x.shape(), out->strides(),
                  axis);
  VisitItemSize(ItemSize(x.dtype()), [&]<typename T>(T) {
    const T* from = value.data<T>();
    T* to = out->data<T>();
    OnCopyOf(x, walk, out,
             [from, to, at = list.values().data(), step = walk.step](
                 int64_t v, int64_t i, int64_t o) {
               to[o + at[i] * step] = from[v];
             });
  });
}

void PutAlongAxisValueGrad(const KernelContext&, const Tensor& dy,
                           const Tensor& indices, int64_t axis, Tensor* out) {
  const Tensor flat = Contiguous(indices);
  const IndexList list("put_along_axis_value_grad", flat,
                       AxisSize(dy.shape(), axis), AxisOf(dy.shape(), axis));
  // Destinations are numbered as those of a contiguous tensor of the shape of
  // dy.
  const Walk places(out->shape(), out->shape(), out->strides(), indices.shape(),
                    dy.shape(), ContiguousStrides(dy.shape()), axis);
  const Walk values(out->shape(), out->shape(), out->strides(), indices.shape(),
                    dy.shape(), dy.strides(), axis);
  std::vector<int64_t> last(dy.numel(), -1);
  places.Serial([&](int64_t v, int64_t i, int64_t o) {
    last[o + list[i] * places.step] = v;
  });
  VisitItemSize(ItemSize(dy.dtype()), [&]<typename T>(T) {
    const T* from = dy.data<T>();
    T* to = out->data<T>();
    values.Serial([&](int64_t v, int64_t i, int64_t o) {
      to[v] = from[o + list[i] * values.step];
    });
    places.Serial([&](int64_t v, int64_t i, int64_t o) {
      if (last[o + list[i] * places.step] != v) to[v] = T();
    });
  });
}

void PutAlongAxisAdd(const KernelContext&, const Tensor& x,
                     const Tensor& indices, const Tensor& value, int64_t axis,
                     Tensor* out) {
  ReduceInto("put_along_axis_add", x, value, indices, axis, out, Add());
}

void PutAlongAxisMultiply(const KernelContext&, const Tensor& x,
                          const Tensor& indices, const Tensor& value,
                          int64_t axis, Tensor* out) {
  ReduceInto("put_along_axis_multiply", x, value, indices, axis, out,
             Multiply());
}

}  // namespace proa::inline v0::ops::cpu
