#include "ops/indexing/indexing_infer.h"

#include <string>

#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "ops/manipulation/slice_range.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

void RequireIndexDType(const char* op, const std::string& name,
                       const Tensor& t) {
  if (t.dtype() == DType::kInt32 || t.dtype() == DType::kInt64) return;
  ThrowTypeError(std::string(op) + ": indices must be int32 or int64; " + name +
                 " is " + Describe(t));
}

bool Fits(int64_t n, int64_t to) {
  return n == to || n == 1 || IsUnknown(n) || IsUnknown(to);
}

void RequireBroadcasts(const char* op, const char* name, const Tensor& t,
                       const Shape& to, const char* what) {
  const int shift = to.rank() - t.rank();
  bool good = shift >= 0;
  for (int i = 0; good && i < t.rank(); ++i)
    good = Fits(t.size(i), to[i + shift]);
  PROA_REQUIRE(good, op, ": ", name, " does not broadcast to ", what, ", ",
               ToString(to), "; ", name, " is ", Describe(t));
}

Shape GatherShape(const char* op, const Shape& x, const Tensor& index,
                  int64_t axis, const std::string& described) {
  RequireIndexDType(op, "index", index);
  PROA_REQUIRE(x.rank() > 0, op,
               ": a 0-d tensor has nothing to gather from; x is ", described);
  const int a = NormalizeAxis(op, axis, x.rank());
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != a) {
      out.push_back(x[i]);
      continue;
    }
    for (int64_t d : index.shape()) out.push_back(d);
  }
  return out;
}

Shape GatherNdShape(const char* op, const Shape& x, const Tensor& index) {
  RequireIndexDType(op, "index", index);
  PROA_REQUIRE(index.rank() > 0, op, ": index needs 1 dim or more; index is ",
               Describe(index));
  const int64_t depth = index.size(index.rank() - 1);
  PROA_REQUIRE(!IsUnknown(depth), op, ": the last dim of index must be known");
  PROA_REQUIRE(depth <= x.rank(), op, ": the last dim of index is ", depth,
               ", but x has ", x.rank(), " dims; x is ", ToString(x),
               ", index is ", Describe(index));
  Shape out = index.shape();
  out.dims().pop_back();
  for (int i = static_cast<int>(depth); i < x.rank(); ++i) out.push_back(x[i]);
  return out;
}

Shape AlongAxisShape(const char* op, const Shape& x, const Tensor& indices,
                     int64_t axis, const std::string& described) {
  RequireIndexDType(op, "indices", indices);
  PROA_REQUIRE(indices.rank() == x.rank(), op,
               ": indices must have the rank of x; x is ", described,
               ", indices is ", Describe(indices));
  const int a = NormalizeAxis(op, axis, x.rank());
  Shape out = indices.shape();
  for (int i = 0; i < out.rank(); ++i) {
    if (i == a) continue;
    const int64_t n = x[i], m = out[i];
    PROA_REQUIRE(Fits(n, m) || m == 1, op, ": sizes ", n, " and ", m,
                 " of dim ", i, " do not fit; x is ", described,
                 ", indices is ", Describe(indices));
    if (IsUnknown(m) && IsUnknown(n) && m != n) {
      out[i] = kUnknownDim;  // one of them may be 1
    } else if (m == 1 || IsUnknown(m)) {
      out[i] = n == 1 ? m : n;
    }
  }
  return out;
}

Shape IndexShape(const char* op, const Shape& x,
                 std::span<const Tensor> indices, Ints axes, int64_t position) {
  PROA_REQUIRE(!indices.empty(), op, ": the list of indices is empty");
  PROA_REQUIRE(indices.size() == axes.size(), op, ": ", indices.size(),
               " indices for ", axes.size(), " axes");
  Shape dims;
  uint64_t chosen = 0;
  for (size_t k = 0; k < indices.size(); ++k) {
    PROA_REQUIRE(indices[k].defined(), op, ": indices[", k, "] is None");
    RequireIndexDType(op, "indices[" + std::to_string(k) + "]", indices[k]);
    PROA_REQUIRE(x.rank() > 0, op, ": a 0-d tensor has no dim to index");
    const int a = NormalizeAxis(op, axes[k], x.rank());
    PROA_REQUIRE((chosen >> a & 1) == 0, op, ": axis ", a,
                 " is given twice; axes is ", ToString(axes));
    chosen |= uint64_t{1} << a;
    if (k == 0) {
      dims = indices[k].shape();
      continue;
    }
    // A message of its own: the shapes at fault are those of two indices.
    const Shape& other = indices[k].shape();
    const int shared = std::min(dims.rank(), other.rank());
    for (int i = 1; i <= shared; ++i) {
      const int64_t n = dims[dims.rank() - i], m = other[other.rank() - i];
      PROA_REQUIRE(Fits(n, m) || m == 1, op, ": the indices do not broadcast; ",
                   "those before indices[", k, "] have shape ", ToString(dims),
                   ", indices[", k, "] is ", Describe(indices[k]));
    }
    dims = BroadcastShapes(op, dims, other);
  }
  const int at = IndexPosition(op, x, axes, position);
  Shape out;
  int rest = 0;
  for (int i = 0; i <= x.rank(); ++i) {
    const bool kept = i < x.rank() && (chosen >> i & 1) == 0;
    if ((kept || i == x.rank()) && rest == at) {
      for (int64_t d : dims) out.push_back(d);
      ++rest;  // once only
    }
    if (!kept) continue;
    out.push_back(x[i]);
    ++rest;
  }
  PROA_REQUIRE(out.rank() <= kMaxRank, op, ": the result has ", out.rank(),
               " dims, more than ", kMaxRank);
  return out;
}

}  // namespace

// Rows ----------------------------------------------------------------------

// Dims ------------------------------------------------------------------------

uint64_t DroppedDims(const char* op, const Tensor& x, Ints axis) {
  uint64_t dropped = 0;
  for (int64_t a : axis) {
    const int i = NormalizeAxis(op, a, x.rank());
    if (x.rank() == 0) {  // which counts as one dim there
      Fail(absl::StatusCode::kOutOfRange, op, ": axis ", a,
           " is out of range for a tensor of 0 dims; x is ", Describe(x));
    }
    PROA_REQUIRE(IsUnknown(x.size(i)) || x.size(i) == 1, op, ": dim ", i,
                 " has ", x.size(i), " elements, not one; x is ", Describe(x));
    dropped |= uint64_t{1} << i;
  }
  return dropped;
}

Shape drop_dims(const char* op, const Tensor& x, Ints axis) {
  const uint64_t dropped = DroppedDims(op, x, axis);
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    if ((dropped >> i & 1) == 0) out.push_back(x.size(i));
  }
  return out;
}

Shape gather(const char* op, const Tensor& x, const Tensor& index,
             int64_t axis) {
  return GatherShape(op, x.shape(), index, axis, Describe(x));
}

MemoryOrder order_of_taken(const char*, const Tensor& x, const Tensor& index) {
  return index.rank() == 1 ? OrderOf(x) : MemoryOrder::kRowMajor;
}

Shape gather_grad(const char* op, const Tensor& dy, const Tensor& index,
                  const IntArray& shape, int64_t axis) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy, GatherShape(op, out, index, axis, ToString(out)),
               "what gather takes");
  return out;
}

Shape gather_nd(const char* op, const Tensor& x, const Tensor& index) {
  return GatherNdShape(op, x.shape(), index);
}

Shape scatter_nd(const char* op, const Tensor& index, const Tensor& updates,
                 const IntArray& shape) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "updates", updates, GatherNdShape(op, out, index),
               "what gather_nd takes");
  return out;
}

Shape scatter_nd_add(const char* op, const Tensor& x, const Tensor& index,
                     const Tensor& updates) {
  RequireSameDType(op, x, "updates", updates);
  RequireShape(op, "updates", updates, GatherNdShape(op, x.shape(), index),
               "what gather_nd takes");
  return x.shape();
}

Shape scatter(const char* op, const Tensor& x, const Tensor& index,
              const Tensor& updates) {
  RequireSameDType(op, x, "updates", updates);
  RequireShape(op, "updates", updates, scatter_updates_grad(op, x, index),
               "the rows");
  return x.shape();
}

Shape scatter_grad(const char* op, const Tensor& dy, const Tensor& index) {
  scatter_updates_grad(op, dy, index);
  return dy.shape();
}

Shape scatter_updates_grad(const char* op, const Tensor& dy,
                           const Tensor& index) {
  PROA_REQUIRE(index.rank() <= 1, op, ": index must have 1 dim; index is ",
               Describe(index));
  return GatherShape(op, dy.shape(), index, 0, Describe(dy));
}

Shape embedding(const char* op, const Tensor& x, const Tensor& weight) {
  RequireIndexDType(op, "x", x);
  PROA_REQUIRE(weight.rank() == 2, op, ": weight must have 2 dims; weight is ",
               Describe(weight));
  Shape out = x.shape();
  PROA_REQUIRE(out.rank() < kMaxRank, op, ": x has too many dims");
  out.push_back(weight.size(1));
  return out;
}

Shape embedding_grad(const char* op, const Tensor& dy, const Tensor& x,
                     const IntArray& shape) {
  const Shape out = sizes(op, shape);
  RequireIndexDType(op, "x", x);
  PROA_REQUIRE(out.rank() == 2, op, ": the shape of weight has 2 dims, not ",
               ToString(out));
  Shape expected = x.shape();
  expected.push_back(out[1]);
  RequireShape(op, "dy", dy, expected, "the embedded ids");
  return out;
}

Shape row_sparse(const char* op, const Tensor& rows, const Tensor& values,
                 int64_t height) {
  RequireIndexDType(op, "rows", rows);
  PROA_REQUIRE(rows.rank() == 1, op, ": rows must have 1 dim; rows is ",
               Describe(rows));
  PROA_REQUIRE(values.rank() >= 1 &&
                   (values.size(0) == rows.size(0) ||
                    IsUnknown(values.size(0)) || IsUnknown(rows.size(0))),
               op, ": values must have a first dim of the number of rows, ",
               rows.size(0), "; values is ", Describe(values));
  PROA_REQUIRE(height >= 0, op, ": height is ", height,
               "; it must not be negative");
  Shape out = values.shape();
  out[0] = height;
  out.numel();  // throws when the product overflows
  return out;
}

Shape held_rows(const char* op, const Tensor& x) {
  PROA_REQUIRE(x.rank() >= 1, op, ": x must have 1 dim at least; x is ",
               Describe(x));
  return {kUnknownDim};
}

Shape held_values(const char* op, const Tensor& x) {
  PROA_REQUIRE(x.rank() >= 1, op, ": x must have 1 dim at least; x is ",
               Describe(x));
  Shape out = x.shape();
  out[0] = kUnknownDim;
  return out;
}

Shape held_values_grad(const char* op, const Tensor& dy, const Tensor& x) {
  // How many rows x holds is known to the kernel.
  RequireShape(op, "dy", dy, held_values(op, x), "the values of x");
  return x.shape();
}

Shape one_hot(const char* op, const Tensor& x, int64_t num_classes) {
  PROA_REQUIRE(num_classes >= 0, op, ": num_classes is ", num_classes,
               "; it must not be negative");
  Shape out = x.shape();
  PROA_REQUIRE(out.rank() < kMaxRank, op, ": x has too many dims");
  out.push_back(num_classes);
  out.numel();  // throws when the product overflows
  return out;
}

// Elements along an axis -----------------------------------------------------

Shape take_along_axis(const char* op, const Tensor& x, const Tensor& indices,
                      int64_t axis) {
  return AlongAxisShape(op, x.shape(), indices, axis, Describe(x));
}

Shape take_along_axis_grad(const char* op, const Tensor& dy,
                           const Tensor& indices, const IntArray& shape,
                           int64_t axis) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy,
               AlongAxisShape(op, out, indices, axis, ToString(out)),
               "what take_along_axis takes");
  return out;
}

Shape put_along_axis(const char* op, const Tensor& x, const Tensor& indices,
                     const Tensor& value, int64_t axis) {
  RequireSameDType(op, x, "value", value);
  RequireBroadcasts(op, "value", value,
                    AlongAxisShape(op, x.shape(), indices, axis, Describe(x)),
                    "the indexed elements");
  return x.shape();
}

// NumPy's indexing ------------------------------------------------------------

int IndexPosition(const char* op, const Shape& x, Ints axes, int64_t position) {
  const int64_t last = x.rank() - static_cast<int64_t>(axes.size());
  PROA_REQUIRE(position >= -1 && position <= last, op, ": position ", position,
               " is not between 0 and ", last);
  if (position >= 0) return static_cast<int>(position);
  int first = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int a = NormalizeAxis(op, axes[k], x.rank());
    if (k == 0) first = a;
    if (a != first + static_cast<int>(k)) return 0;
  }
  return first;
}

Shape index_get(const char* op, const Tensor& x,
                std::span<const Tensor> indices, Ints axes, int64_t position) {
  return IndexShape(op, x.shape(), indices, axes, position);
}

Shape index_get_grad(const char* op, const Tensor& dy,
                     std::span<const Tensor> indices, const IntArray& shape,
                     Ints axes, int64_t position) {
  const Shape out = sizes(op, shape);
  RequireShape(op, "dy", dy, IndexShape(op, out, indices, axes, position),
               "what index_get takes");
  return out;
}

Shape index_put(const char* op, const Tensor& x,
                std::span<const Tensor> indices, const Tensor& value, Ints axes,
                int64_t position, bool accumulate) {
  RequireSameDType(op, x, "value", value);
  RequireBroadcasts(op, "value", value,
                    IndexShape(op, x.shape(), indices, axes, position),
                    "the indexed elements");
  return x.shape();
}

Shape slice_set(const char* op, const Tensor& x, const Tensor& value, Ints axes,
                Ints starts, Ints ends, Ints strides) {
  RequireSameDType(op, x, "value", value);
  RequireBroadcasts(
      op, "value", value,
      ResolveSlices(op, x.shape(), {}, axes, starts, ends, strides).shape,
      "the part");
  return x.shape();
}

// Conditions and order --------------------------------------------------------

Shape nonzero(const char* op, const Tensor& x) {
  return {kUnknownDim, x.rank()};
}

Shape masked_select(const char* op, const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != DType::kBool) {
    ThrowTypeError(std::string(op) + ": mask must be bool; mask is " +
                   Describe(mask));
  }
  BroadcastShapes(op, x.shape(), mask.shape());
  return {kUnknownDim};
}

Shape masked_select_grad(const char* op, const Tensor& dy, const Tensor& mask,
                         const IntArray& shape) {
  if (mask.dtype() != DType::kBool) {
    ThrowTypeError(std::string(op) + ": mask must be bool; mask is " +
                   Describe(mask));
  }
  PROA_REQUIRE(dy.rank() == 1, op, ": dy must have 1 dim; dy is ",
               Describe(dy));
  return BroadcastShapes(op, sizes(op, shape), mask.shape());
}

Shape topk(const char* op, const Tensor& x, int64_t k, int64_t axis) {
  const int a = NormalizeAxis(op, axis, x.rank());
  const int64_t n = x.rank() == 0 ? 1 : x.size(a);
  PROA_REQUIRE(k >= 0, op, ": k is ", k, "; it must not be negative");
  PROA_REQUIRE(IsUnknown(n) || k <= n, op, ": k is ", k, ", but dim ", a,
               " has ", n, " elements; x is ", Describe(x));
  Shape out = x.shape();
  if (out.rank() > 0) {
    out[a] = k;
  } else if (k == 0) {
    FailArgument(op, ": k is 0, but a 0-d tensor has one element");
  }
  return out;
}

Shape kthvalue(const char* op, const Tensor& x, int64_t k, int64_t axis,
               bool keepdim) {
  const int a = NormalizeAxis(op, axis, x.rank());
  const int64_t n = x.rank() == 0 ? 1 : x.size(a);
  PROA_REQUIRE(k >= 1, op, ": k is ", k, "; it counts from 1");
  PROA_REQUIRE(IsUnknown(n) || k <= n, op, ": k is ", k, ", but dim ", a,
               " has ", n, " elements; k counts from 1; x is ", Describe(x));
  Shape out = x.shape();
  if (out.rank() == 0) return out;
  if (keepdim) {
    out[a] = 1;
  } else {
    out.dims().erase(out.dims().begin() + a);
  }
  return out;
}

Shape searchsorted(const char* op, const Tensor& sorted_sequence,
                   const Tensor& values) {
  PROA_REQUIRE(sorted_sequence.rank() > 0, op,
               ": sorted_sequence needs 1 dim or more");
  bool good =
      sorted_sequence.rank() == 1 || sorted_sequence.rank() == values.rank();
  for (int i = 0; good && i + 1 < sorted_sequence.rank(); ++i) {
    good = sorted_sequence.size(i) == values.size(i) ||
           IsUnknown(sorted_sequence.size(i)) || IsUnknown(values.size(i));
  }
  PROA_REQUIRE(good, op,
               ": sorted_sequence must be a vector or have the leading dims of "
               "values; sorted_sequence is ",
               Describe(sorted_sequence), ", values is ", Describe(values));
  return values.shape();
}

DType searchsorted_dtype(const char* op, bool out_int32) {
  return out_int32 ? DType::kInt32 : DType::kInt64;
}

Shape unique(const char* op, const Tensor& x, std::optional<int64_t> axis) {
  if (!axis.has_value() || x.rank() == 0) {
    if (axis.has_value()) NormalizeAxis(op, *axis, x.rank());
    return {kUnknownDim};
  }
  Shape out = x.shape();
  out[NormalizeAxis(op, *axis, x.rank())] = kUnknownDim;
  return out;
}

Shape unique_count(const char* op, const Tensor& x) { return {kUnknownDim}; }

Shape unique_inverse(const char* op, const Tensor& x,
                     std::optional<int64_t> axis) {
  if (!axis.has_value() || x.rank() == 0) return {x.shape().numel()};
  return {x.size(NormalizeAxis(op, *axis, x.rank()))};
}

}  // namespace proa::inline v0::ops::infer
