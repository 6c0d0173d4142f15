#include "ops/front_door.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "ops/creation/store_ops.h"
#include "ops/definition.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/elementwise/comparison_ops.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "ops/on_host.h"
#include "ops/symbolic_view.h"
#include "ops/value.h"
#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/promotion.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::ops {

void FailNone(const char* op, const char* param) {
  ThrowTypeError(absl::StrCat(op, ": ", param, " is None; expected Tensor"));
}

void FailPlaces(const char* op, Place a, Place b) {
  FailArgument(op, ": tensors lie in different places, ", ToString(a), " and ",
               ToString(b), "; move them with Tensor.to() first");
}

void RequireDefined(const char* op, const char* param,
                    std::span<const Tensor> ts) {
  for (size_t i = 0; i < ts.size(); ++i) {
    if (!ts[i].defined()) {
      ThrowTypeError(
          absl::StrCat(op, ": ", param, "[", i, "] is None; expected Tensor"));
    }
  }
}

Tensor PrepareSlow(const Tensor& t, DType dtype, Place place, bool contiguous) {
  Tensor r = t;
  if (r.place() != place) r = CopyTo(r, place, /*blocking=*/true);
  if (r.layout() != Layout::kStrided || (contiguous && !r.is_contiguous())) {
    r = Contiguous(r);
  }
  if (r.dtype() != dtype) r = ops::cast(r, dtype);
  return r;
}

Tensor PrepareOperandSlow(const Tensor& t, DType dtype, Place place) {
  // The host's driver converts what it reads, block by block. Fewer elements
  // are sooner cast: calls of one type run without a plan.
  constexpr int64_t kFew = 4096;
  if (t.numel() > kFew && place.is_cpu() && t.place().is_cpu() &&
      t.layout() == Layout::kStrided) {
    return t;
  }
  const bool number = t.rank() == 0 && t.place().is_cpu();
  return PrepareSlow(t, dtype, number ? Place{} : place, /*contiguous=*/false);
}

namespace {

// Whether `t` lies channels-last, or is a part of such an image: some of its
// channels, rows or images, so that it has gaps.
bool StepsChannelsLast(const Tensor& t) {
  if (t.is_contiguous() || t.layout() != Layout::kStrided || t.rank() < 3 ||
      t.rank() > 5 || (t.size(1) > 1 && t.strides()[1] != 1)) {
    return false;
  }
  int64_t least = t.size(1);
  for (int d = t.rank() - 1; d >= 0; --d) {
    if (d == 1 || t.size(d) == 1) continue;
    if (t.strides()[d] < least) return false;
    least = t.strides()[d] * t.size(d);
  }
  return true;
}

}  // namespace

Tensor EmptyAmongSlow(const Shape& shape, DType dtype, Place place,
                      std::initializer_list<const Tensor*> inputs) {
  for (const Tensor* t : inputs) {
    if (t->defined() && t->shape() == shape && StepsChannelsLast(*t)) {
      return EmptyInOrder(shape, dtype, place, MemoryOrder::kChannelsLast);
    }
  }
  return Tensor::Empty(shape, dtype, place);
}

std::span<const Tensor> PrepareInputs(std::span<const Tensor> ts, bool cast,
                                      DType dtype, Place place, bool contiguous,
                                      std::vector<Tensor>* buffer,
                                      bool keep_rows) {
  for (size_t i = 0; i < ts.size(); ++i) {
    if (keep_rows && HasRows(ts[i])) continue;
    Tensor changed;
    const Tensor& t = PrepareInput(ts[i], cast ? dtype : ts[i].dtype(), place,
                                   contiguous, &changed);
    if (&t == &ts[i]) continue;
    if (buffer->empty()) buffer->assign(ts.begin(), ts.end());
    (*buffer)[i] = t;
  }
  return buffer->empty() ? ts : std::span<const Tensor>(*buffer);
}

void CheckInplaceTarget(const char* op, const Tensor& x, const Shape& shape,
                        DType dtype, bool rows) {
  PROA_REQUIRE(x.shape() == shape, op, ": the result has shape ",
               ToString(shape), ", which does not fit in place; x is ",
               Describe(x));
  PROA_REQUIRE(x.dtype() == dtype, op, ": the result is ",
               absl::string_view(Name(dtype).data(), Name(dtype).size()),
               ", which does not fit in place; x is ", Describe(x));
  PROA_REQUIRE(x.storage() == nullptr || !x.storage()->read_only(), op,
               ": the memory of x is read-only; x is ", Describe(x));
  if (!rows || x.layout() != Layout::kRowSparse) RequireElements(op, "x", x);
  if (x.layout() != Layout::kStrided || x.is_contiguous() || x.numel() <= 1) {
    return;
  }
  for (int i = 0; i < x.rank(); ++i) {
    PROA_REQUIRE(x.strides()[i] != 0 || x.size(i) <= 1, op,
                 ": cannot change x in place; its elements along dim ", i,
                 " are one and the same; x is ", Describe(x),
                 " by broadcasting; change a copy (clone)");
  }
}

void RequireElements(const char* op, const char* param, const Tensor& t) {
  PROA_REQUIRE(!t.defined() || t.layout() == Layout::kStrided, op, ": ", param,
               " is not strided, so that its elements cannot be changed in "
               "place; make it dense first (Tensor.to_dense); it is ",
               Describe(t));
}

void RequireElements(const char* op, const char* param,
                     std::span<const Tensor> ts) {
  for (const Tensor& t : ts) RequireElements(op, param, t);
}

void LinkViews(std::span<const Tensor> views, const Tensor& base) {
  for (const Tensor& view : views) LinkViews(view, base);
}

Tensor ResolveOverlap(const Tensor& x, const Tensor& y) {
  if (!y.defined() || y.storage() != x.storage()) return y;
  if (y.raw_data() == x.raw_data() && y.shape() == x.shape() &&
      y.strides() == x.strides()) {
    return y;
  }
  Tensor copy = Tensor::Empty(y.shape(), y.dtype(), y.place());
  CopyInto(y, copy);
  return copy;
}

void MarkWritten(const char* op, const Tensor& x) {
  if (!x.storage()) return;
  x.storage()->BumpVersion();
  x.storage()->set_last_writer(op);
}

void WriteInto(const Tensor& x, const Tensor& value) { CopyInto(value, x); }

namespace {
// `value` of a program that asks, when it runs, whether its sizes are those of
// x. (By name: the families below have no headers of `report`.)
Tensor FittingInPlace(const char* op, const Tensor& x, const Tensor& value) {
  const OpDefinition* const require = FindOp("require");
  if (require == nullptr) return value;  // the family is not linked
  const Tensor its = ops::shape(value), wanted = ops::shape(x);
  const std::vector<Value> args = {
      value, ops::equal(its, wanted),
      std::string(op) +
          ": the result has shape {}, which does not fit in place; x is {}",
      std::vector<Tensor>{its, wanted}};
  std::vector<Value> results(1);
  require->call(args, results);
  return std::get<Tensor>(results[0]);
}
}  // namespace

void RecordWrite(const char* op, const Tensor& x, const Tensor& value) {
  // Views of x, as reshape_ makes them, may have other dims.
  const bool is_view = value.is_symbolic() && value.impl()->root != nullptr;
  bool fits = x.rank() == value.rank();
  for (int d = 0; fits && d < x.rank(); ++d) {
    const int64_t m = x.size(d), n = value.size(d);
    fits = m == n || IsUnknown(m) || IsUnknown(n);
  }
  PROA_REQUIRE(fits || is_view, op, ": the result has shape ",
               ToString(value.shape()), ", which does not fit in place; x is ",
               Describe(x));
  PROA_REQUIRE(x.dtype() == value.dtype(), op, ": the result is ",
               Describe(value), ", which does not fit in place; x is ",
               Describe(x));
  const bool is_known = is_view || x.shape() == value.shape();
  if (x.is_symbolic()) {
    const Tensor fitting = is_known ? value : FittingInPlace(op, x, value);
    if (x.impl()->root) {
      InstalledSymbolicViews().write(op, x, fitting);
    } else {
      Rebind(x, fitting);
    }
    // Views of `x` follow where it goes.
    x.impl()->view_flags |= x.flags() & kDifferentiate;
  } else {
    ops::store_(x, value);
  }
}

namespace {
AssignHistory assign_history;
}  // namespace

void InstallAssignHistory(const AssignHistory& functions) {
  assign_history = functions;
}

Tensor AssignInto(const char* op, const Tensor& x, const Tensor& result) {
  if (x.is_symbolic() || result.is_symbolic()) {
    RecordWrite(op, x, result);
    return x;
  }
  if (x.storage() != nullptr && x.storage() == result.storage()) {
    Rebind(x, result);
    MarkWritten(op, x);
    return x;
  }
  const bool recorded =
      (ActiveInterpreters(x.flags() | result.flags()) & kDifferentiate) != 0 &&
      assign_history.check != nullptr;
  if (recorded) assign_history.check(op, x);
  CheckInplaceTarget(op, x, result.shape(), result.dtype());
  WriteInto(x, result);
  MarkWritten(op, x);
  if (recorded) assign_history.assign(x, result);
  return x;
}

void CheckMayChange(const char* op, Interpreters flags_of_changed) {
  if ((flags_of_changed & kDifferentiate) != 0 && GradEnabled()) {
    Fail(absl::StatusCode::kFailedPrecondition, op,
         ": changes tensors that require grad in place; call it under no_grad");
  }
}

bool RunsOnHost(Place place) { return !place.is_cpu(); }

namespace {

// What an op that changes arguments did to the copy of one, done to the tensor.
void WriteBack(const OpDefinition& op, const Tensor& host,
               const Tensor& there) {
  if (!host.defined() || host.storage() == there.storage()) return;
  if (host.version() == 0) return;
  CopyInto(host, there);
  MarkWritten(op.name, there);
}

void WriteBack(const OpDefinition& op, const Value& host, const Value& there) {
  if (const auto* t = std::get_if<Tensor>(&host)) {
    WriteBack(op, *t, std::get<Tensor>(there));
  } else if (const auto* ts = std::get_if<std::vector<Tensor>>(&host)) {
    const auto& originals = std::get<std::vector<Tensor>>(there);
    for (size_t i = 0; i < ts->size(); ++i)
      WriteBack(op, (*ts)[i], originals[i]);
  }
}

Tensor MoveTo(const Tensor& t, Place place) {
  if (!t.defined()) return t;
  if (!IsRowSparse(t)) return CopyTo(t, place);
  return MakeRowSparse(CopyTo(RowsOf(t), place), CopyTo(ValuesOf(t), place),
                       t.size(0));
}

Value MoveTo(const Value& v, Place place) {
  if (const auto* t = std::get_if<Tensor>(&v)) return Value(MoveTo(*t, place));
  if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    std::vector<Tensor> moved;
    for (const Tensor& t : *ts) moved.push_back(MoveTo(t, place));
    return Value(std::move(moved));
  }
  if (std::holds_alternative<Place>(v)) return Value(place);
  return v;
}

}  // namespace

void CallOnHost(const OpDefinition& op, Place place,
                std::span<const Value> args, std::span<Value> results) {
  std::vector<Value> host;
  host.reserve(args.size());
  for (const Value& v : args) host.push_back(MoveTo(v, Place{}));
  {
    const OnHost on_host;
    op.call(host, results);
  }
  for (size_t i = 0; i < args.size(); ++i) WriteBack(op, host[i], args[i]);
  for (Value& v : results) v = MoveTo(v, place);
}

IntArray ShapeOf(const Tensor& t) {
  if (t.shape().known()) return IntArray(t.shape());
  return IntArray(ops::shape(t));
}

int64_t SizeOf(const Tensor& t, int64_t axis) {
  const int64_t size = t.size(NormalizeAxis("size", axis, t.rank()));
  PROA_REQUIRE(!IsUnknown(size), "size: dim ", axis, " of ", Describe(t),
               " is not known before the program runs");
  return size;
}

IntArray SizesOf(std::span<const Tensor> ts, int64_t axis) {
  std::vector<int64_t> sizes;
  sizes.reserve(ts.size());
  for (const Tensor& t : ts) {
    sizes.push_back(t.size(NormalizeAxis("sizes", axis, t.rank())));
  }
  if (std::ranges::none_of(sizes, IsUnknown)) return IntArray(sizes);
  std::vector<Tensor> parts;
  for (const Tensor& t : ts) {
    const int64_t a = NormalizeAxis("sizes", axis, t.rank());
    const int64_t axes[] = {0}, begin[] = {a}, end[] = {a + 1};
    parts.push_back(ops::slice(ops::shape(t), axes, begin, end, {}));
  }
  return IntArray(ops::concat(parts, 0));
}

namespace {

// A number as a 0-d CPU tensor; no op call, since it is no part of a program.
Tensor FillScalar(const Scalar& value, DType dtype) {
  Tensor t = Tensor::Empty({}, dtype);
  VisitDType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *t.data<T>() = value.to<T>();
  });
  return t;
}

}  // namespace

Tensor ScalarLike(const Tensor& like, const Scalar& value) {
  return FillScalar(
      value, PromoteScalar(like.dtype(), value.kind(), infer::DefaultDType()));
}

}  // namespace proa::inline v0::ops
