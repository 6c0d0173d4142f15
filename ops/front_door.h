// What generated front doors are made of: argument checks, preparation of
// kernel inputs, and the in-place rules. Included by generated sources only.
#ifndef PROA_OPS_FRONT_DOOR_H_
#define PROA_OPS_FRONT_DOOR_H_

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/definition.h"
#include "ops/int_array.h"
#include "ops/kernel.h"
#include "ops/value.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/memory_order.h"
#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops {

[[noreturn]] void FailNone(const char* op, const char* param);
[[noreturn]] void FailPlaces(const char* op, Place a, Place b);

inline void RequireDefined(const char* op, const char* param, const Tensor& t) {
  if (!t.defined()) [[unlikely]]
    FailNone(op, param);
}
void RequireDefined(const char* op, const char* param,
                    std::span<const Tensor> ts);

inline Interpreters FlagsOf(const Tensor& t) { return t.flags(); }
inline Interpreters FlagsOf(const IntArray& a) { return a.flags(); }
inline Interpreters FlagsOf(std::span<const Tensor> ts) {
  Interpreters flags = 0;
  for (const Tensor& t : ts) flags |= t.flags();
  return flags;
}

// The place all tensors lie in; throws Error if they differ. A 0-d CPU tensor
// goes with any place (a scalar from Python) and is moved by PrepareInput.
inline void MergePlace(const char* op, const Tensor& t, Place* place,
                       bool* found) {
  if (!t.defined() || (*found && t.place() == *place)) return;
  if (!*found) {
    *place = t.place();
    *found = true;
    return;
  }
  if (t.rank() == 0 && t.place().is_cpu()) return;
  if (place->is_cpu()) {  // an earlier scalar may have set cpu
    *place = t.place();
    return;
  }
  FailPlaces(op, *place, t.place());
}

// Slow parts of PrepareInput.
Tensor PrepareSlow(const Tensor& t, DType dtype, Place place, bool contiguous);

// `t` as the kernel wants it: cast to `dtype`, on `place`, contiguous if asked.
// Returns `t` itself when there is nothing to do, else *buffer.
inline const Tensor& PrepareInput(const Tensor& t, DType dtype, Place place,
                                  bool contiguous, Tensor* buffer) {
  if (t.dtype() == dtype && t.place() == place &&
      (t.is_contiguous() || (!contiguous && t.layout() == Layout::kStrided)))
      [[likely]] {
    return t;
  }
  *buffer = PrepareSlow(t, dtype, place, contiguous);
  return *buffer;
}
// The same for elementwise kernels, which take strides, and on a device a
// number of the host as it is.
Tensor PrepareOperandSlow(const Tensor& t, DType dtype, Place place);
inline const Tensor& PrepareOperand(const Tensor& t, DType dtype, Place place,
                                    Tensor* buffer) {
  if (t.dtype() == dtype && t.place() == place &&
      (t.is_contiguous() || t.layout() == Layout::kStrided)) [[likely]] {
    return t;
  }
  *buffer = PrepareOperandSlow(t, dtype, place);
  return *buffer;
}
// The same for kernels that take images in either memory order.
inline const Tensor& PrepareImage(const Tensor& t, DType dtype, Place place,
                                  Tensor* buffer) {
  if (t.dtype() == dtype && t.place() == place &&
      (t.is_contiguous() || OrderOf(t) == MemoryOrder::kChannelsLast)) {
    return t;
  }
  *buffer =
      PrepareSlow(t, dtype, place, OrderOf(t) != MemoryOrder::kChannelsLast);
  return *buffer;
}
// Lists: returns the span itself, or a prepared copy in *buffer. `cast` says
// whether dtypes are changed to `dtype` at all, `keep_rows` that row-sparse
// tensors stay as they are.
std::span<const Tensor> PrepareInputs(std::span<const Tensor> ts, bool cast,
                                      DType dtype, Place place, bool contiguous,
                                      std::vector<Tensor>* buffer,
                                      bool keep_rows = false);

// The output of an elementwise op: channels-last if one of the inputs of its
// shape lies so.
Tensor EmptyAmongSlow(const Shape& shape, DType dtype, Place place,
                      std::initializer_list<const Tensor*> inputs);
template <typename... Tensors>
Tensor EmptyAmong(const Shape& shape, DType dtype, Place place,
                  const Tensors&... inputs) {
  if ((... && (!inputs.defined() || inputs.is_contiguous()))) [[likely]]
    return Tensor::Empty(shape, dtype, place);
  return EmptyAmongSlow(shape, dtype, place, {&inputs...});
}

// For schemas with `row_sparse`. None has no rows.
inline bool HasRows(const Tensor& t) {
  return t.defined() && t.layout() == Layout::kRowSparse;
}
// For parameters that a kernel changes: throws for a tensor of another layout,
// whose elements cannot be written.
void RequireElements(const char* op, const char* param, const Tensor& t);
void RequireElements(const char* op, const char* param,
                     std::span<const Tensor> ts);

// What a view op made while grad is on (see LinkView).
inline void LinkViews(const Tensor& view, const Tensor& base) {
  if (GradEnabled()) LinkView(view, base);
}
void LinkViews(std::span<const Tensor> views, const Tensor& base);

// In-place calls --------------------------------------------------------------

// Throws unless the result (shape, dtype) fits `x`, its storage may be written
// and no two of its elements are one (an expanded tensor). `rows`: x may be
// row-sparse.
void CheckInplaceTarget(const char* op, const Tensor& x, const Shape& shape,
                        DType dtype, bool rows = false);
// `y` itself, or a copy when it overlaps `x` without being the same elements.
Tensor ResolveOverlap(const Tensor& x, const Tensor& y);
// After the kernel wrote: version and writer.
void MarkWritten(const char* op, const Tensor& x);
// Copies `value` into the elements of `x`.
void WriteInto(const Tensor& x, const Tensor& value);

// In-place while a program is recorded: a symbolic `x` is rebound to `value`;
// into a tensor of the world outside (a running mean) the program stores the
// value.
void RecordWrite(const char* op, const Tensor& x, const Tensor& value);
// In-place form of a composite: writes `result` into `x` (or rebinds a symbolic
// or view result) with its history, and returns `x`.
Tensor AssignInto(const char* op, const Tensor& x, const Tensor& result);
// How AssignInto does so where `x` or `result` requires grad; null while no
// autograd is linked in. Does what is installed after WriteInto and
// MarkWritten.
struct AssignHistory {
  void (*check)(const char* op, const Tensor& x) = nullptr;  // throws; before
  void (*assign)(const Tensor& x, const Tensor& result) = nullptr;  // after
};
void InstallAssignHistory(const AssignHistory& functions);
// For ops that change parameters themselves (`mutates`): throws when one of
// them requires grad while grad is on.
void CheckMayChange(const char* op, Interpreters flags_of_changed);

// Boxed calls -----------------------------------------------------------------

template <typename T>
Value BoxOptional(const std::optional<T>& v) {
  return v.has_value() ? Value(*v) : Value();
}
// True for a device whose missing kernels run on the CPU, with copies both
// ways.
bool RunsOnHost(Place place);
void CallOnHost(const OpDefinition& op, Place place,
                std::span<const Value> args, std::span<Value> results);

// Formula support -------------------------------------------------------------

// Sizes of `t`; of a symbolic tensor with unknown dims, the symbolic result of
// op `shape`.
IntArray ShapeOf(const Tensor& t);
inline IntArray ShapeOf(const IntArray& shape) { return shape; }
int64_t SizeOf(const Tensor& t, int64_t axis);
IntArray SizesOf(std::span<const Tensor> ts, int64_t axis);
// A 0-d tensor of the dtype and place of `like` (or what its kind promotes to).
Tensor ScalarLike(const Tensor& like, const Scalar& value);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_FRONT_DOOR_H_
