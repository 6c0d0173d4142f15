// Tensors as Python numbers, lists and sequences.
#include <Python.h>

#include <string>

#include "ops/elementwise/binary_ops.h"
#include "ops/elementwise/complex_ops.h"
#include "ops/reduction/extremum_ops.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/symbolic.h"
#include "python/core/tensor_indexing.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

// The one element as a Python number.
template <typename T>
PyObject* NumberObject(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return PyBool_FromLong(v);
  } else if constexpr (std::is_integral_v<T>) {
    return PyLong_FromLongLong(v);
  } else if constexpr (IsComplex(kDTypeOf<T>)) {
    return PyComplex_FromDoubles(v.real(), v.imag());
  } else {
    return PyFloat_FromDouble(static_cast<double>(v));
  }
}

// `x` with its one element.
Tensor One(const char* what, const Tensor& x) {
  Tensor t = Elements(what, x);
  PROA_REQUIRE(t.numel() == 1, what,
               ": only a tensor of one element is a number; x is ",
               Describe(t));
  return t;
}

PyObject* ItemOf(const Tensor& t) {
  return VisitDType(t.dtype(), [&]<typename T>(TypeTag<T>) {
    return Check(NumberObject(t.item<T>()));
  });
}

PyObject* Item(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return Guarded([&]() -> PyObject* {
    Tensor t = Unwrap(self);
    if (nargs == 1) t = Elements("item", t);
    if (nargs == 1 && !PyTuple_Check(args[0])) {  // of the flattened tensor
      const Ref index = Ref::New(PyNumber_Index(args[0]));
      const int64_t i = PyLong_AsLongLong(index.get());
      if (i == -1 && PyErr_Occurred()) throw PythonError();
      if (i < -t.numel() || i >= t.numel()) {
        Fail(absl::StatusCode::kOutOfRange, "item: index ", i,
             " is out of range; x is ", Describe(t));
      }
      t = Contiguous(t).AsStrided({}, {}, i < 0 ? i + t.numel() : i);
    } else if (nargs > 0) {
      Ref key = Ref::Borrow(args[0]);
      if (!PyTuple_Check(args[0])) {
        key = Ref::New(PyTuple_New(nargs));
        for (Py_ssize_t i = 0; i < nargs; ++i) {
          PyTuple_SET_ITEM(key.get(), i, Py_NewRef(args[i]));
        }
      }
      PROA_REQUIRE(PyTuple_GET_SIZE(key.get()) == t.rank(),
                   "item: ", PyTuple_GET_SIZE(key.get()), " indices; x is ",
                   Describe(t));
      const Ref element = Ref::New(GetItem(self, key.get()));
      t = Unwrap(element.get());
    }
    return ItemOf(One("item", t));
  });
}

template <typename T>
PyObject* ListOf(const T* data, const Shape& shape, int dim, int64_t step) {
  if (dim == shape.rank()) return Check(NumberObject(*data));
  const int64_t n = shape[dim];
  Ref list = Ref::New(PyList_New(n));
  const int64_t inner = n > 0 ? step / n : 0;
  for (int64_t i = 0; i < n; ++i) {
    PyList_SET_ITEM(list.get(), i,
                    ListOf(data + i * inner, shape, dim + 1, inner));
  }
  return list.release();
}

PyObject* ToList(PyObject* self, PyObject*) {
  return Guarded([&] {
    const Tensor x = Elements("tolist", Unwrap(self));
    const Tensor t = Contiguous(x.place().is_cpu() ? x : CopyTo(x, Place{}));
    return VisitDType(t.dtype(), [&]<typename T>(TypeTag<T>) {
      return ListOf(t.data<T>(), t.shape(), 0, t.numel());
    });
  });
}

int Truth(PyObject* self) {
  return GuardedStatus([&] {
    const Tensor t = Elements("bool", Unwrap(self));
    PROA_REQUIRE(t.numel() == 1, "bool: the truth value of a tensor of ",
                 t.numel(), " elements is ambiguous; use all() or any(); x is ",
                 Describe(t));
    return t.item<bool>() ? 1 : 0;
  });
}

PyObject* Int(PyObject* self) {
  return Guarded([&]() -> PyObject* {
    const Tensor t = One("int", Unwrap(self));
    if (IsComplex(t.dtype()))
      ThrowTypeError("int: x is complex; take real(x) first");
    const Ref number = Ref::New(ItemOf(t));
    return PyNumber_Long(number.get());
  });
}

PyObject* Float(PyObject* self) {
  return Guarded([&]() -> PyObject* {
    const Tensor t = One("float", Unwrap(self));
    if (IsComplex(t.dtype()))
      ThrowTypeError("float: x is complex; take real(x) first");
    return PyFloat_FromDouble(t.item<double>());
  });
}

PyObject* Complex(PyObject* self, PyObject*) {
  return Guarded([&]() -> PyObject* {
    const auto v = One("complex", Unwrap(self)).item<complex128>();
    return PyComplex_FromDoubles(v.real(), v.imag());
  });
}

PyObject* Index(PyObject* self) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    if (!IsInteger(t.dtype()) && t.dtype() != DType::kBool) {
      ThrowTypeError("index: only integer tensors can be an index; x is " +
                     Describe(t));
    }
    return PyLong_FromLongLong(One("index", t).item<int64_t>());
  });
}

Py_ssize_t Length(PyObject* self) {
  return GuardedStatus([&]() -> Py_ssize_t {
    const Tensor& t = Unwrap(self);
    if (t.rank() == 0) ThrowTypeError("len: a 0-d tensor has no length");
    if (t.size(0) < 0) {
      ThrowTypeError(
          "len: the size is known only when the program runs; x is " +
          Describe(t));
    }
    return t.size(0);
  });
}

// For iteration and the C sequence interface: IndexError ends a loop.
PyObject* SequenceItem(PyObject* self, Py_ssize_t i) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    if (t.rank() == 0) ThrowTypeError("a 0-d tensor has no elements to index");
    if (i < 0 || i >= t.size(0)) {
      Fail(absl::StatusCode::kOutOfRange, "index ", i,
           " is out of range at dim 0; x is ", Describe(t));
    }
    return Wrap(SelectFirst(t, i));
  });
}

PyObject* Iterate(PyObject* self) {
  return Guarded([&]() -> PyObject* {
    if (Length(self) < 0) throw PythonError();
    return PySeqIter_New(self);
  });
}

int Contains(PyObject* self, PyObject* value) {
  return GuardedStatus([&] {
    const Ref equal = Ref::New(PyObject_RichCompare(self, value, Py_EQ));
    if (!IsTensor(equal.get())) return 0;
    const Tensor any = ops::any(Unwrap(equal.get()));
    return Elements("in", any).item<bool>() ? 1 : 0;
  });
}

PyObject* Format(PyObject* self, PyObject* spec) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    if (t.rank() != 0 || t.is_symbolic()) {
      return PyObject_CallMethod(
          reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__format__", "OO",
          self, spec);
    }
    const Ref number = Ref::New(ItemOf(t));
    return PyObject_Format(number.get(), spec);
  });
}

}  // namespace

void AddConversions(Methods* methods, Slots* slots) {
  const PyMethodDef functions[] = {
      {"item", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&Item)),
       METH_FASTCALL,
       "item($self, *args)\n--\n\n"
       "The element as a Python number: the only one, that at one index of the "
       "flattened\n"
       "tensor, or that at one index for each dim."},
      {"tolist", &ToList, METH_NOARGS,
       "tolist($self)\n--\n\nThe elements as nested lists; of a 0-d tensor a "
       "number."},
      {"__complex__", &Complex, METH_NOARGS, nullptr},
      {"__format__", &Format, METH_O, nullptr},
  };
  methods->insert(methods->end(), std::begin(functions), std::end(functions));
  const auto add = [&](int slot, auto* function) {
    slots->push_back({slot, reinterpret_cast<void*>(function)});
  };
  add(Py_nb_bool, &Truth);
  add(Py_nb_int, &Int);
  add(Py_nb_float, &Float);
  add(Py_nb_index, &Index);
  add(Py_sq_item, &SequenceItem);
  add(Py_sq_contains, &Contains);
  add(Py_mp_length, &Length);
  add(Py_tp_iter, &Iterate);
}

}  // namespace proa::inline v0::python
