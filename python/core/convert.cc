#include "python/core/convert.h"

#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/infer.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "python/core/dtype_object.h"
#include "python/core/late_call.h"
#include "python/core/numpy.h"
#include "python/core/place_object.h"
#include "python/core/symbolic.h"
#include "python/core/to_tensor.h"
#include "tensor/error.h"
#include "tensor/promotion.h"

namespace proa::inline v0::python {
namespace {

// A one-element tensor that stands for a number.
bool IsNumberTensor(PyObject* o) {
  return IsTensor(o) && Unwrap(o).defined() && Unwrap(o).numel() == 1;
}

// The one element of a tensor for the argument `i`.
Tensor ElementOf(const Signature& s, int i, PyObject* o) {
  const Tensor& t = Unwrap(o);
  if (!t.is_symbolic()) return t;
  Tensor elements = TryElements(t);
  if (elements.defined()) return elements;
  throw LateAttribute(absl::StatusCode::kFailedPrecondition,
                      absl::StrCat(s.op, ": ", s.names[i],
                                   ": a tensor of a program has no elements "
                                   "until the program runs; x is ",
                                   Describe(t)));
}

Scalar NumberOf(const Tensor& t) {
  return VisitDType(
      t.dtype(), [&]<typename T>(TypeTag<T>) { return Scalar(t.item<T>()); });
}

std::string ElementName(const Signature& s, int i, Py_ssize_t k) {
  return absl::StrCat(s.op, ": element ", k, " of ", s.names[i]);
}

// An int from an element of a list; `what` names it in messages.
int64_t ElementInt(PyObject* o, const Signature& s, int i, Py_ssize_t k) {
  if (PyLong_CheckExact(o)) [[likely]] {
    int overflow;
    const int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow == 0) return v;
    ThrowPython(PyExc_OverflowError, ElementName(s, i, k) + " is " + TextOf(o) +
                                         ", which int64 does not hold");
  }
  if (IsNumberTensor(o) && IsInteger(Unwrap(o).dtype())) {
    return ElementOf(s, i, o).item<int64_t>();
  }
  if (IsOpenSize(o)) FailType(s, i, "a list of int", o);  // a late attribute
  if (!IsTensor(o) && PyIndex_Check(o)) {
    const Ref kept = Ref::Borrow(o);  // __index__ may change the list it is in
    const Ref index = Ref::New(PyNumber_Index(o));
    return ElementInt(index.get(), s, i, k);
  }
  ThrowPython(PyExc_TypeError,
              ElementName(s, i, k) + " must be int, not " + TypeName(o));
}

// A list of sizes with symbolic tensors in it: one symbolic 1-D tensor.
IntArray StackSizes(const Signature& s, int i, PyObject* const* items,
                    Py_ssize_t n) {
  std::vector<Tensor> parts;
  for (Py_ssize_t k = 0; k < n; ++k) {
    if (IsNumberTensor(items[k]) || IsLate(items[k])) {
      const Tensor size =
          IsOpenSize(items[k]) ? TensorOfSize(items[k]) : Unwrap(items[k]);
      parts.push_back(
          ops::cast(ops::reshape(size, IntArray({1})), DType::kInt64));
    } else {
      Tensor size = Tensor::Empty({1}, DType::kInt64);
      *size.data<int64_t>() = ElementInt(items[k], s, i, k);
      parts.push_back(std::move(size));
    }
  }
  return IntArray(ops::concat(parts, 0));
}

// More items than this a list of numbers never has; a range may.
constexpr Py_ssize_t kMostItems = Py_ssize_t{1} << 24;

// The items of a list or tuple, or of what is a sequence of numbers; null if
// `o` is none of these.
Ref Sequence(const Signature& s, int i, PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o)) return Ref::Borrow(o);
  if (PyUnicode_Check(o) || PyBytes_Check(o) || PyDict_Check(o)) return Ref();
  if (!PySequence_Check(o) && !IsTensor(o)) return Ref();
  if (IsTensor(o)) {
    if (Unwrap(o).rank() != 1 || IsLate(o)) return Ref();
    return Ref::New(PyObject_CallMethod(o, "tolist", nullptr));
  }
  const Py_ssize_t n = PySequence_Size(o);
  if (n < 0) PyErr_Clear();  // it has no size, or one beyond all numbers
  if (n > kMostItems || (n < 0 && PyRange_Check(o))) {
    FailArgument(s.op, ": ", s.names[i], " has ",
                 n < 0 ? "too many" : absl::StrCat(n),
                 " elements; a list of numbers has at most ", kMostItems);
  }
  Ref list = Ref::NewOrNull(PySequence_Tuple(o));
  if (!list) PyErr_Clear();
  return list;
}

}  // namespace

void FailType(const Signature& s, int i, const char* expected, PyObject* got) {
  if (IsOpenSize(got)) {
    throw LateAttribute(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat(s.op, ": ", s.names[i], " must be ", expected,
                     " when the program is recorded; it is a size that is "
                     "known only when the program runs; give it in the "
                     "InputSpec (static.data)"));
  }
  ThrowPython(PyExc_TypeError, absl::StrCat(s.op, ": ", s.names[i], " must be ",
                                            expected, ", not ", TypeName(got)));
}

std::optional<Scalar> FindNumber(PyObject* o) {
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_Check(o)) {
    int overflow;
    const int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow == 0) return Scalar(v);
    ThrowPython(PyExc_OverflowError,
                "the number " + TextOf(o) + " does not fit in int64");
  }
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return Scalar(complex128(c.real, c.imag));
  }
  if (IsNumPyScalar(o)) {
    const Ref item = Ref::New(PyObject_CallMethod(o, "item", nullptr));
    if (!IsNumPyScalar(item.get())) return FindNumber(item.get());
  }
  return std::nullopt;
}

DType NumberDType(const Scalar& number, DType beside) {
  const DType dtype =
      PromoteScalar(beside, number.kind(), ops::infer::DefaultDType());
  if (number.kind() == 'i' && IsInteger(dtype) && dtype != DType::kInt64) {
    const int64_t v = number.to<int64_t>();
    const bool fits = VisitDType(dtype, [&]<typename T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        return v >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
               v <= static_cast<int64_t>(std::numeric_limits<T>::max());
      } else {
        return true;
      }
    });
    if (!fits) return DType::kInt64;
  }
  return dtype;
}

Tensor NumberTensor(const Scalar& number, DType dtype) {
  Tensor t = Tensor::Empty({}, dtype);
  VisitDType(dtype,
             [&]<typename T>(TypeTag<T>) { *t.data<T>() = number.to<T>(); });
  return t;
}

bool IsArrayLike(PyObject* o) {
  if (IsNumPyArray(o)) return true;
  if (PyUnicode_Check(o) || PyBytes_Check(o) || PyType_Check(o) || IsTensor(o))
    return false;
  return PyObject_HasAttrString(o, "__array__") ||
         PyObject_HasAttrString(o, "__array_interface__");
}

bool ToBool(const Signature& s, int i, PyObject* o) {
  if (o == Py_True) return true;
  if (o == Py_False) return false;
  if (IsLate(o)) ElementOf(s, i, o);  // throws
  if (PyLong_Check(o) || IsNumPyScalar(o) || IsNumberTensor(o)) {
    const int truth = PyObject_IsTrue(o);
    CheckStatus(truth);
    return truth != 0;
  }
  FailType(s, i, "bool", o);
}

int64_t ToInt(const Signature& s, int i, PyObject* o) {
  if (PyLong_Check(o)) [[likely]] {
    int overflow;
    const int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow == 0) return v;
    ThrowPython(PyExc_OverflowError,
                absl::StrCat(s.op, ": ", s.names[i], " is ", TextOf(o),
                             ", which int64 does not hold"));
  }
  if (IsTensor(o)) {
    const Tensor& t = Unwrap(o);
    if (t.numel() == 1 && (IsInteger(t.dtype()) || t.dtype() == DType::kBool)) {
      return ElementOf(s, i, o).item<int64_t>();
    }
    FailType(s, i, "int or a Tensor of one integer", o);
  }
  if (PyIndex_Check(o)) {
    const Ref index = Ref::NewOrNull(PyNumber_Index(o));
    if (index) return ToInt(s, i, index.get());
    PyErr_Clear();  // an array of several elements has the slot, but not the
                    // value
  }
  FailType(s, i, "int", o);
}

double ToFloat(const Signature& s, int i, PyObject* o) {
  if (PyFloat_Check(o)) [[likely]]
    return PyFloat_AS_DOUBLE(o);
  if (IsNumberTensor(o)) return ElementOf(s, i, o).item<double>();
  if (PyLong_Check(o)) {
    const double v = PyLong_AsDouble(o);
    if (v == -1.0 && PyErr_Occurred()) throw PythonError();
    return v;
  }
  if (IsNumPyScalar(o) || IsNumPyArray(o)) {
    const Ref f = Ref::NewOrNull(PyNumber_Float(o));
    if (f) return PyFloat_AS_DOUBLE(f.get());
    PyErr_Clear();
  }
  FailType(s, i, "float", o);
}

std::string_view ToString(const Signature& s, int i, PyObject* o) {
  if (!PyUnicode_Check(o)) FailType(s, i, "str", o);
  Py_ssize_t size;
  const char* text = Check(PyUnicode_AsUTF8AndSize(o, &size));
  return {text, static_cast<size_t>(size)};
}

DimVector ToIntList(const Signature& s, int i, PyObject* o) {
  if (o == Py_None) return {};
  if (PyLong_Check(o) || IsNumPyScalar(o) ||
      (IsTensor(o) && Unwrap(o).rank() == 0)) {
    return {ToInt(s, i, o)};
  }
  if (IsTensor(o) && IsLate(o)) ElementOf(s, i, o);  // throws
  const Ref items = Sequence(s, i, o);
  if (!items) FailType(s, i, "int or a list of int", o);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  DimVector out;
  out.reserve(n);
  for (Py_ssize_t k = 0; k < n; ++k) {
    // Looked up anew each time: __index__ of an item may run any code.
    if (k >= PySequence_Fast_GET_SIZE(items.get())) break;
    out.push_back(
        ElementInt(PySequence_Fast_GET_ITEM(items.get(), k), s, i, k));
  }
  return out;
}

std::vector<double> ToFloatList(const Signature& s, int i, PyObject* o) {
  if (o == Py_None) return {};
  if (PyFloat_Check(o) || PyLong_Check(o) || IsNumPyScalar(o))
    return {ToFloat(s, i, o)};
  if (IsTensor(o) && IsLate(o)) ElementOf(s, i, o);  // throws
  const Ref items = Sequence(s, i, o);
  if (!items) FailType(s, i, "float or a list of float", o);
  std::vector<double> out;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(items.get()); ++k) {
    out.push_back(ToFloat(s, i, PySequence_Fast_GET_ITEM(items.get(), k)));
  }
  return out;
}

Tensor FindLate(const Signature& s, int i, PyObject* o) {
  if (o == nullptr) return Tensor();
  if (IsOpenSize(o)) return TensorOfSize(o);
  if (IsLate(o)) return Unwrap(o);
  if (!PyList_Check(o) && !PyTuple_Check(o)) return Tensor();
  PyObject** items = PySequence_Fast_ITEMS(o);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t k = 0; k < n; ++k) {
    if (IsLate(items[k])) return StackSizes(s, i, items, n).tensor();
  }
  return Tensor();
}

IntArray ToIntArray(const Signature& s, int i, PyObject* o) {
  if (IsTensor(o)) {
    const Tensor elements = TryElements(Unwrap(o));
    return IntArray(elements.defined() ? elements : Unwrap(o));
  }
  if (PyList_Check(o) || PyTuple_Check(o)) {
    PyObject** items = PySequence_Fast_ITEMS(o);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t k = 0; k < n; ++k) {
      if (IsLate(items[k])) {
        return StackSizes(s, i, items, n);
      }
    }
  }
  if (IsOpenSize(o)) return StackSizes(s, i, &o, 1);
  const DimVector sizes = ToIntList(s, i, o);
  return IntArray(std::span<const int64_t>(sizes.data(), sizes.size()));
}

Scalar ToScalar(const Signature& s, int i, PyObject* o) {
  if (const std::optional<Scalar> number = FindNumber(o)) return *number;
  if (IsNumberTensor(o)) return NumberOf(ElementOf(s, i, o));
  if (IsNumPyArray(o)) {
    const Tensor t = ToTensor(o, std::nullopt, std::nullopt);
    if (t.numel() == 1) return NumberOf(t);
  }
  FailType(s, i, "a number or a Tensor of one element", o);
}

DType ToDType(const Signature& s, int i, PyObject* o) {
  const std::optional<DType> t = FindDType(o);
  if (t) return *t;
  if (PyUnicode_Check(o)) {
    ThrowPython(PyExc_TypeError,
                absl::StrCat(s.op, ": ", s.names[i],
                             " names no element type: '", TextOf(o), "'"));
  }
  FailType(s, i, "a dtype or its name", o);
}

Place ToPlace(const Signature& s, int i, PyObject* o) {
  const std::optional<Place> place = FindPlace(o);
  if (!place) FailType(s, i, "a place or its name", o);
  return *place;
}

std::vector<Tensor> ToTensorList(const Signature& s, int i, PyObject* o) {
  const Ref items = IsTensor(o) || IsNumPyArray(o) ? Ref() : Sequence(s, i, o);
  if (!items) FailType(s, i, "a list or tuple of Tensor", o);
  std::vector<Tensor> out;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  out.reserve(n);
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(items.get()); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), k);
    if (IsTensor(item)) [[likely]] {
      out.push_back(Unwrap(item));
    } else if (const Ref kept = Ref::Borrow(item); IsArrayLike(item)) {
      out.push_back(ToTensor(item, std::nullopt, std::nullopt));
    } else {
      ThrowPython(
          PyExc_TypeError,
          ElementName(s, i, k) + " must be a Tensor, not " + TypeName(item));
    }
  }
  return out;
}

Tensor ToTensorArgument(const Signature& s, int i, PyObject* const* a) {
  PyObject* o = a[i];
  if (IsTensor(o)) return Unwrap(o);
  const bool promotes = (s.promotes >> i & 1) != 0;
  if (promotes) {
    if (const std::optional<Scalar> number = FindNumber(o)) {
      for (int k = 0; k < s.num_params; ++k) {
        if ((s.promotes >> k & 1) != 0 && a[k] != nullptr && IsTensor(a[k])) {
          return NumberTensor(*number,
                              NumberDType(*number, Unwrap(a[k]).dtype()));
        }
      }
      return NumberTensor(
          *number, DTypeOfScalar(number->kind(), ops::infer::DefaultDType()));
    }
  }
  if (IsArrayLike(o)) return ToTensor(o, std::nullopt, std::nullopt);
  if (IsOpenSize(o)) return TensorOfSize(o);
  FailType(s, i,
           promotes ? "a Tensor, an array or a number" : "a Tensor or an array",
           o);
}

}  // namespace proa::inline v0::python
