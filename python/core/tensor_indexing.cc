#include "python/core/tensor_indexing.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/saved_views.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/indexing/drop_ops.h"
#include "ops/indexing/index_ops.h"
#include "ops/indexing/mask_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/strided_ops.h"
#include "ops/manipulation/view_ops.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/index_key.h"
#include "python/core/late_call.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "python/core/to_tensor.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::python {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

using Kind = IndexPart::Kind;

[[noreturn]] void FailRange(int64_t i, int dim, const Tensor& x) {
  Fail(absl::StatusCode::kOutOfRange, "index ", i, " is out of range at dim ",
       dim, "; x is ", Describe(x));
}

// How many dims of `x` an ellipsis stands for.
int EllipsisDims(const IndexKey& key, const Tensor& x) {
  int used = 0;
  for (const IndexPart& p : key.parts) {
    used += p.kind == Kind::kMask ? p.array.rank()
            : p.kind == Kind::kNewAxis || p.kind == Kind::kEllipsis ? 0
                                                                    : 1;
  }
  return x.rank() - used;
}

// Basic indexing
// -----------------------------------------------------------------

// True if nothing records the view, so that it can be made at once.
bool IsPlain(const Tensor& x) {
  return ActiveInterpreters(x.flags()) == 0 && x.layout() == Layout::kStrided &&
         x.storage();
}

// The part of a dim of size `n` that a slice takes: its first element and
// length.
int64_t ClampSlice(const IndexPart& p, int64_t n, int64_t* start) {
  const auto clamp = [n](int64_t v, int64_t low, int64_t high) {
    if (v < 0) v = v < -n ? low : v + n;
    return v > high ? high : v;
  };
  if (p.step > 0) {
    *start = clamp(p.start, 0, n);
    const int64_t stop = clamp(p.stop, 0, n);
    return stop <= *start ? 0 : (stop - *start - 1) / p.step + 1;
  }
  *start = clamp(p.start, -1, n - 1);
  const int64_t stop = clamp(p.stop, -1, n - 1);
  if (stop >= *start) return 0;
  // The step may be INT64_MIN, which has no opposite.
  const uint64_t step = uint64_t{0} - static_cast<uint64_t>(p.step);
  return static_cast<int64_t>(static_cast<uint64_t>(*start - stop - 1) / step) +
         1;
}

Tensor PlainView(const Tensor& x, const IndexKey& key) {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
  int dim = 0;
  for (const IndexPart& p : key.parts) {
    switch (p.kind) {
      case Kind::kInteger: {
        const int64_t n = x.size(dim);
        const int64_t i = p.start < 0 ? p.start + n : p.start;
        if (i < 0 || i >= n) FailRange(p.start, dim, x);
        offset += i * x.strides()[dim++];
        break;
      }
      case Kind::kSlice: {
        int64_t start;
        const int64_t n = ClampSlice(p, x.size(dim), &start);
        if (n > 0) offset += start * x.strides()[dim];
        shape.push_back(n);
        // A step beyond the dim is never taken, and could overflow here.
        strides.push_back(n > 1 ? x.strides()[dim] * p.step : x.strides()[dim]);
        ++dim;
        break;
      }
      case Kind::kNewAxis:
        shape.push_back(1);
        strides.push_back(1);
        break;
      default:
        for (int left = EllipsisDims(key, x); left > 0; --left) {
          shape.push_back(x.size(dim));
          strides.push_back(x.strides()[dim++]);
        }
    }
  }
  Tensor view = x.AsStrided(shape, strides, x.numel() == 0 ? 0 : offset);
  if (GradEnabled()) LinkView(view, x);
  return view;
}

std::span<const int64_t> Span(const DimVector& v) {
  return {v.data(), v.size()};
}

// The arguments of ops `slice` and `slice_set` that stand for a key; arrays and
// masks for full slices of their dims.
struct SliceArguments {
  DimVector axes, starts, ends, steps;
  DimVector dropped;  // dims of integers, in the result of the slice
  DimVector added;    // new dims, in the result without the dropped ones
};

// `keep_integers`: integers stand for full slices too.
SliceArguments SlicesOf(const Tensor& x, const IndexKey& key,
                        bool keep_integers) {
  SliceArguments a;
  int dim = 0;
  int out = 0;  // dim of the result
  for (const IndexPart& p : key.parts) {
    switch (p.kind) {
      case Kind::kInteger: {
        if (keep_integers) {
          ++dim;
          ++out;
          break;
        }
        const int64_t n = x.size(dim);
        if (n >= 0 && (p.start < -n || p.start >= n))
          FailRange(p.start, dim, x);
        a.axes.push_back(dim);
        a.starts.push_back(p.start);
        a.ends.push_back(p.start == -1 ? kMax : p.start + 1);
        a.steps.push_back(1);
        a.dropped.push_back(dim++);
        break;
      }
      case Kind::kSlice:
        if (p.start != 0 || p.stop != kMax || p.step != 1) {
          a.axes.push_back(dim);
          a.starts.push_back(p.start);
          a.ends.push_back(p.stop);
          a.steps.push_back(p.step);
        }
        ++dim;
        ++out;
        break;
      case Kind::kNewAxis:
        a.added.push_back(out++);
        break;
      case Kind::kArray:
        ++dim;
        ++out;
        break;
      case Kind::kMask:
        // A 0-d mask indexes a dim that is added for it.
        if (p.array.rank() == 0) a.added.push_back(out++);
        dim += p.array.rank();
        out += p.array.rank();
        break;
      case Kind::kEllipsis: {
        const int n = EllipsisDims(key, x);
        dim += n;
        out += n;
        break;
      }
    }
  }
  return a;
}

// The view through ops, which are differentiated and recorded; `x` itself if
// the key takes everything.
Tensor RecordedView(const Tensor& x, const SliceArguments& a) {
  Tensor t = x;
  if (!a.axes.empty()) {
    t = ops::slice(t, Span(a.axes), Span(a.starts), Span(a.ends),
                   Span(a.steps));
  }
  if (!a.dropped.empty()) t = ops::drop_dims(t, Span(a.dropped));
  if (!a.added.empty()) t = ops::unsqueeze(t, Span(a.added));
  return t;
}

Tensor BasicGet(const Tensor& x, const IndexKey& key) {
  if (IsPlain(x)) return PlainView(x, key);
  const Tensor t = RecordedView(x, SlicesOf(x, key, false));
  // x[...] and x[:] are new objects, as in NumPy.
  return t.is_same(x) ? ops::slice(x, {}, {}, {}, {}) : t;
}

// Advanced indexing
// -----------------------------------------------------------------

// What ops `index_get` and `index_put` take, for the view in which integers
// stand for full slices.
struct ArrayArguments {
  std::vector<Tensor> indices;
  DimVector axes;
  int64_t position = 0;
};

// The places of the true elements: one index tensor for each dim of the mask.
std::vector<Tensor> IndicesOf(const Tensor& mask) {
  if (mask.rank() == 0) {  // takes the added dim, or nothing of it
    return {ops::reshape(ops::nonzero(ops::reshape(mask, IntArray({1}))),
                         IntArray({-1}))};
  }
  return ops::unbind(ops::nonzero(mask), 1);
}

void CheckMask(const Tensor& mask, const Tensor& x, int dim) {
  for (int i = 0; i < mask.rank(); ++i) {
    if (mask.size(i) != x.size(dim + i) && mask.size(i) >= 0 &&
        x.size(dim + i) >= 0) {
      Fail(absl::StatusCode::kOutOfRange,
           "index: the mask does not fit at dim ", dim + i, "; x is ",
           Describe(x), ", the mask is ", Describe(mask));
    }
  }
}

// NumPy's rule: the dims of the index stand where the arrays stand if these are
// neighbours, else in front. Integers count as arrays.
ArrayArguments ArraysOf(const Tensor& x, const IndexKey& key) {
  ArrayArguments a;
  int dim = 0;         // of x
  int out = 0;         // of the view
  int left = 0;        // dims of the view that are not indexed, so far
  bool ended = false;  // an index, and then something else
  bool neighbours = true;
  const auto index = [&](Tensor t) {
    if (a.axes.empty()) a.position = left;
    if (ended) neighbours = false;
    a.axes.push_back(out++);
    a.indices.push_back(std::move(t));
  };
  const auto keep = [&](int n) {
    ended = ended || !a.axes.empty();
    out += n;
    left += n;
  };
  for (const IndexPart& p : key.parts) {
    switch (p.kind) {
      case Kind::kInteger: {
        const int64_t n = x.size(dim);
        if (n >= 0 && (p.start < -n || p.start >= n))
          FailRange(p.start, dim, x);
        ++dim;
        index(NumberTensor(Scalar(p.start), DType::kInt64));
        break;
      }
      case Kind::kArray:
        ++dim;
        index(p.array);
        break;
      case Kind::kMask:
        CheckMask(p.array, x, dim);
        dim += p.array.rank();
        for (Tensor& t : IndicesOf(p.array)) index(std::move(t));
        break;
      case Kind::kSlice:
        ++dim;
        keep(1);
        break;
      case Kind::kNewAxis:
        keep(1);
        break;
      case Kind::kEllipsis: {
        const int n = EllipsisDims(key, x);
        dim += n;
        keep(n);
        break;
      }
    }
  }
  if (!neighbours) a.position = 0;
  return a;
}

// The mask, if the key is one of the shape of x.
const Tensor* WholeMask(const Tensor& x, const IndexKey& key) {
  const IndexPart& p = key.parts[0];
  if (key.parts.size() != 1 || p.kind != Kind::kMask || p.array.rank() == 0)
    return nullptr;
  CheckMask(p.array, x, 0);
  return &p.array;
}

Tensor AdvancedGet(const Tensor& x, const IndexKey& key) {
  if (const Tensor* mask = WholeMask(x, key))
    return ops::masked_select(x, *mask);
  const Tensor view = RecordedView(x, SlicesOf(x, key, true));
  const ArrayArguments a = ArraysOf(x, key);
  return ops::index_get(view, a.indices, Span(a.axes), a.position);
}

// Setting
// ---------------------------------------------------------------------------

// The value as a tensor of x's dtype.
Tensor ValueTensor(PyObject* o, const Tensor& x) {
  if (IsTensor(o)) {
    const Tensor& t = Unwrap(o);
    return t.dtype() == x.dtype() ? t : ops::cast(t, x.dtype());
  }
  if (const std::optional<Scalar> number = FindNumber(o)) {
    if (number->is_complex() && !IsComplex(x.dtype())) {
      ThrowTypeError("setitem: a complex number does not go into x, which is " +
                     Describe(x));
    }
    return NumberTensor(*number, x.dtype());
  }
  return ToTensor(o, x.dtype(), x.place());
}

// `value` without leading dims of size 1 beyond `rank`, which NumPy allows.
Tensor Trimmed(const Tensor& value, int rank) {
  if (value.rank() <= rank) return value;
  DimVector axes;
  for (int i = 0; i < value.rank() - rank; ++i) {
    PROA_REQUIRE(value.size(i) == 1,
                 "setitem: the value has more dims than the ", rank,
                 " that are set; value is ", Describe(value));
    axes.push_back(i);
  }
  return ops::squeeze(value, Span(axes));
}

// `value`, which broadcasts to the view, as it broadcasts to the slice: with
// dims of size 1 where integers are, and without the dims that None added.
Tensor AlignedValue(Tensor value, const Tensor& x, const SliceArguments& a) {
  const int view_rank = x.rank() - static_cast<int>(a.dropped.size()) +
                        static_cast<int>(a.added.size());
  value = Trimmed(value, view_rank);
  const int missing =
      view_rank - value.rank();  // leading dims that broadcasting adds
  DimVector gone;
  for (const int64_t i : a.added) {
    if (i < missing) continue;
    PROA_REQUIRE(
        value.size(static_cast<int>(i) - missing) == 1,
        "setitem: the value does not broadcast to a new axis; value is ",
        Describe(value));
    gone.push_back(i - missing);
  }
  if (!gone.empty()) value = ops::squeeze(value, Span(gone));
  // From the last dim on, where broadcasting aligns; before the value's first
  // dim nothing is needed.
  DimVector from_end;
  int length = 0;
  int next = static_cast<int>(a.dropped.size()) - 1;
  for (int dim = x.rank() - 1, left = value.rank(); dim >= 0 && left > 0;
       --dim, ++length) {
    if (next >= 0 && a.dropped[next] == dim) {
      from_end.push_back(length);
      --next;
    } else {
      --left;
    }
  }
  if (from_end.empty()) return value;
  DimVector axes;
  for (auto i = from_end.rbegin(); i != from_end.rend(); ++i)
    axes.push_back(length - 1 - *i);
  return ops::unsqueeze(value, Span(axes));
}

void BasicSet(const Tensor& x, const IndexKey& key, const Tensor& value) {
  const SliceArguments a = SlicesOf(x, key, false);
  ops::slice_set_(x, AlignedValue(value, x, a), Span(a.axes), Span(a.starts),
                  Span(a.ends), Span(a.steps));
}

void AdvancedSet(const Tensor& x, const IndexKey& key, const Tensor& value) {
  if (value.rank() == 0) {
    if (const Tensor* mask = WholeMask(x, key)) {
      ops::masked_fill_(x, *mask, value);
      return;
    }
  }
  const SliceArguments slices = SlicesOf(x, key, true);
  const ArrayArguments a = ArraysOf(x, key);
  const Tensor view = RecordedView(x, slices);
  int index_rank = 0;
  for (const Tensor& t : a.indices) index_rank = std::max(index_rank, t.rank());
  const Tensor fitting = Trimmed(
      value, view.rank() - static_cast<int>(a.axes.size()) + index_rank);
  if (view.is_same(x)) {
    ops::index_put_(x, a.indices, fitting, Span(a.axes), a.position, false);
    return;
  }
  // Recorded as two steps out of place: that costs less in backward than a
  // change of the view, of which the whole of x would have to learn.
  Tensor part =
      ops::index_put(view, a.indices, fitting, Span(a.axes), a.position, false);
  if (!slices.added.empty()) part = ops::squeeze(part, Span(slices.added));
  ops::slice_set_(x, part, Span(slices.axes), Span(slices.starts),
                  Span(slices.ends), Span(slices.steps));
}

}  // namespace

Tensor SelectFirst(const Tensor& x, int64_t i) {
  IndexKey key;
  key.parts.push_back({Kind::kInteger, i});
  key.parts.push_back({Kind::kEllipsis});
  return BasicGet(x, key);
}

PyObject* GetItem(PyObject* self, PyObject* o) {
  return Guarded([&]() -> PyObject* {
    const Tensor& x = Unwrap(self);
    IndexKey key;
    try {
      key = ReadIndexKey(o, x);
    } catch (const LateAttribute&) {
      const Ref module =
          Ref::New(PyImport_ImportModule("proa.tensor.late_slices"));
      return Check(PyObject_CallMethod(module.get(), "part", "OO", self, o));
    }
    if (!key.advanced) return Wrap(BasicGet(x, key));
    return Wrap(WithoutGil(Elements(x), [&] { return AdvancedGet(x, key); }));
  });
}

int SetItem(PyObject* self, PyObject* o, PyObject* v) {
  return GuardedStatus([&] {
    if (v == nullptr) ThrowTypeError("elements of a Tensor cannot be deleted");
    const Tensor& x = Unwrap(self);
    const IndexKey key = ReadIndexKey(o, x);
    const Tensor value = ValueTensor(v, x);
    return WithoutGil(Elements(x), [&] {
      autograd::PreserveSavedViews(x);
      key.advanced ? AdvancedSet(x, key, value) : BasicSet(x, key, value);
      return 0;
    });
  });
}

void AddIndexing(Slots* slots) {
  slots->push_back({Py_mp_subscript, reinterpret_cast<void*>(&GetItem)});
  slots->push_back({Py_mp_ass_subscript, reinterpret_cast<void*>(&SetItem)});
}

}  // namespace proa::inline v0::python
