#include "python/core/index_key.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/elementwise/elementwise_ops.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/late_call.h"
#include "python/core/numpy.h"
#include "python/core/symbolic.h"
#include "python/core/tensor_object.h"
#include "python/core/to_tensor.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::python {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

using Kind = IndexPart::Kind;

[[noreturn]] void FailIndex(const std::string& message) {
  Fail(absl::StatusCode::kOutOfRange, message);
}

// A bound of a slice: an int, what has __index__, or a Tensor of one integer.
// Beyond int64 it is clamped, as in Python.
int64_t Bound(PyObject* o, int64_t none) {
  if (o == Py_None) return none;
  if (IsLate(o)) {
    throw LateAttribute(
        absl::StatusCode::kFailedPrecondition,
        "index: a bound of a slice is known only when the program runs");
  }
  if (!PyIndex_Check(o)) {
    ThrowTypeError("slice: bounds must be int or None, not " + TypeName(o));
  }
  const Py_ssize_t v = PyNumber_AsSsize_t(o, nullptr);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

IndexPart SlicePart(PyObject* o) {
  const auto* s = reinterpret_cast<PySliceObject*>(o);
  IndexPart part{Kind::kSlice};
  part.step = Bound(s->step, 1);
  PROA_REQUIRE(part.step != 0, "slice: the step is zero");
  const bool forward = part.step > 0;
  part.start = Bound(s->start, forward ? 0 : kMax);
  part.stop = Bound(s->stop, forward ? kMax : kMin);
  return part;
}

IndexPart ArrayPart(Tensor t) {
  if (t.dtype() == DType::kBool) return {Kind::kMask, 0, 0, 1, std::move(t)};
  if (!IsInteger(t.dtype())) {
    FailIndex(absl::StrCat(
        "index: arrays of integers or bool are indices; this one is ",
        Describe(t)));
  }
  if (t.dtype() != DType::kInt64) t = Converted(t, DType::kInt64, std::nullopt);
  return {Kind::kArray, 0, 0, 1, std::move(t)};
}

IndexPart IntegerPart(PyObject* o) {
  const Py_ssize_t v = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return {Kind::kInteger, v};
}

// A list or array as an index tensor; the empty list is one of integers.
IndexPart ListPart(PyObject* o, Place place) {
  Tensor t = ToTensor(o, std::nullopt, place);
  if (t.numel() == 0 && (PyList_Check(o) || PyTuple_Check(o))) {
    t = Converted(t, DType::kInt64, std::nullopt);
  }
  return ArrayPart(std::move(t));
}

IndexPart Part(PyObject* o, const Tensor& x) {
  if (PyLong_CheckExact(o)) return IntegerPart(o);
  if (PySlice_Check(o)) return SlicePart(o);
  if (o == Py_None) return {Kind::kNewAxis};
  if (o == Py_Ellipsis) return {Kind::kEllipsis};
  if (PyBool_Check(o))
    return ArrayPart(NumberTensor(Scalar(o == Py_True), DType::kBool));
  if (IsTensor(o)) {
    const Tensor& t = Unwrap(o);
    if (t.rank() == 0 && IsInteger(t.dtype())) {
      const Tensor known = TryElements(t);
      if (known.defined()) return {Kind::kInteger, known.item<int64_t>()};
    }
    return ArrayPart(t);
  }
  if (PyList_Check(o) || PyTuple_Check(o)) return ListPart(o, x.place());
  if (IsArrayLike(o) && !IsNumPyScalar(o)) {
    IndexPart part = ListPart(o, x.place());
    if (part.kind == Kind::kArray && part.array.rank() == 0) {
      return {Kind::kInteger, part.array.item<int64_t>()};
    }
    return part;
  }
  if (IsNumPyScalar(o)) {
    const std::optional<Scalar> number = FindNumber(o);
    if (number && number->is_bool())
      return ArrayPart(NumberTensor(*number, DType::kBool));
  }
  if (PyIndex_Check(o)) return IntegerPart(o);
  FailIndex(
      "index: an index must be int, slice, None, Ellipsis, bool, or an array "
      "or list of "
      "integers or bool, not " +
      TypeName(o));
}

}  // namespace

IndexKey ReadIndexKey(PyObject* key, const Tensor& x) {
  IndexKey out;
  const bool many = PyTuple_Check(key);
  const Py_ssize_t n = many ? PyTuple_GET_SIZE(key) : 1;
  int used = 0;
  int ellipses = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    IndexPart part = Part(many ? PyTuple_GET_ITEM(key, i) : key, x);
    switch (part.kind) {
      case Kind::kInteger:
      case Kind::kSlice:
        ++used;
        break;
      case Kind::kArray:
        ++used;
        out.advanced = true;
        break;
      case Kind::kMask:
        used += part.array.rank();
        out.advanced = true;
        break;
      case Kind::kEllipsis:
        ++ellipses;
        break;
      case Kind::kNewAxis:
        break;
    }
    out.parts.push_back(std::move(part));
  }
  if (ellipses > 1) FailIndex("index: an index can have only one Ellipsis");
  if (used > x.rank()) {
    FailIndex(absl::StrCat("index: too many indices, ", used, "; x is ",
                           Describe(x)));
  }
  if (ellipses == 0 && used < x.rank()) out.parts.push_back({Kind::kEllipsis});
  return out;
}

}  // namespace proa::inline v0::python
