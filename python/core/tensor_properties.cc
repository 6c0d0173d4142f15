// Attributes of Tensor that describe it.
#include <Python.h>

#include <atomic>
#include <span>
#include <string>

#include "autograd/grad_state.h"
#include "ops/manipulation/shape_ops.h"
#include "ops/manipulation/view_ops.h"
#include "python/core/dtype_object.h"
#include "python/core/error.h"
#include "python/core/place_object.h"
#include "python/core/symbolic.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::python {
namespace {

TensorObject* Self(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

PyObject* IntList(std::span<const int64_t> v) {
  Ref list = Ref::New(PyList_New(static_cast<Py_ssize_t>(v.size())));
  for (size_t i = 0; i < v.size(); ++i) {
    PyList_SET_ITEM(list.get(), i, Check(PyLong_FromLongLong(v[i])));
  }
  return list.release();
}

PyObject* GetShape(PyObject* o, void*) {
  return Guarded([&] {
    const Tensor& t = Unwrap(o);
    Ref list = Ref::New(IntList(t.shape().span()));
    if (t.is_symbolic()) [[unlikely]] {
      for (int i = 0; i < t.rank(); ++i) {
        if (t.size(i) >= 0) continue;
        CheckStatus(PyList_SetItem(list.get(), i, NewOpenSize(t, i)));
      }
    }
    return list.release();
  });
}
PyObject* GetStrides(PyObject* o, void*) {
  return Guarded([&] {
    const Strides& s = Unwrap(o).strides();
    return IntList({s.data(), s.size()});
  });
}
PyObject* GetLayout(PyObject* o, void*) {
  constexpr const char* kNames[] = {"strided", "blocked", "row_sparse"};
  return PyUnicode_FromString(kNames[static_cast<int>(Unwrap(o).layout())]);
}
PyObject* GetDType(PyObject* o, void*) { return WrapDType(Unwrap(o).dtype()); }
PyObject* GetPlace(PyObject* o, void*) {
  return Guarded([&] { return WrapPlace(Unwrap(o).place()); });
}
PyObject* GetNdim(PyObject* o, void*) {
  return PyLong_FromLong(Unwrap(o).rank());
}
PyObject* GetSize(PyObject* o, void*) {
  return Guarded([&] {
    const Tensor& t = Unwrap(o);
    return t.numel() < 0 ? Check(NewOpenSize(t, -1))
                         : PyLong_FromLongLong(t.numel());
  });
}
PyObject* GetVersion(PyObject* o, void*) {
  return PyLong_FromUnsignedLong(Unwrap(o).version());
}
PyObject* GetType(PyObject* o, void*) {
  return PyUnicode_FromString(IsRowSparse(Unwrap(o)) ? "SELECTED_ROWS"
                                                     : "DENSE_TENSOR");
}

PyObject* GetTransposed(PyObject* o, void*) {
  return Guarded([&] { return Wrap(ops::transpose(Unwrap(o), {})); });
}

// Whoever asks for the name of a value of a program may fetch it by that name.
void NoteName(PyObject* o) {
  const Tensor& t = Unwrap(o);
  if (!t.defined() || !t.is_symbolic()) return;
  const char* text = PyUnicode_AsUTF8(Self(o)->name);
  if (text == nullptr) {
    PyErr_Clear();
    return;
  }
  NameSymbolic(t, text);
}

PyObject* GetName(PyObject* o, void*) {
  static std::atomic<int64_t> count{0};
  if (Self(o)->name == nullptr) {
    Self(o)->name = PyUnicode_FromFormat(
        "generated_tensor_%lld", static_cast<long long>(count.fetch_add(1)));
    if (Self(o)->name == nullptr) return nullptr;
  }
  NoteName(o);
  return Py_NewRef(Self(o)->name);
}

int SetName(PyObject* o, PyObject* value, void*) {
  if (value == nullptr || !PyUnicode_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "Tensor.name must be str");
    return -1;
  }
  Py_INCREF(value);
  Py_XSETREF(Self(o)->name, value);
  NoteName(o);
  return 0;
}

PyObject* GetPersistable(PyObject* o, void*) {
  return PyBool_FromLong(Self(o)->persistable);
}

int SetPersistable(PyObject* o, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "Tensor.persistable cannot be deleted");
    return -1;
  }
  const int truth = PyObject_IsTrue(value);
  if (truth < 0) return -1;
  Self(o)->persistable = truth != 0;
  return 0;
}

}  // namespace

void AddProperties(Properties* properties) {
  const PyGetSetDef rows[] = {
      {"shape", GetShape, nullptr,
       "Sizes, a list of int; where a program does not know one, a Size, which "
       "is equal to -1.",
       nullptr},
      {"strides", GetStrides, nullptr,
       "Steps between elements of each dim, in elements.", nullptr},
      {"layout", GetLayout, nullptr,
       "'strided', 'row_sparse' where only some rows are held, or 'blocked' "
       "for a format of the backend.",
       nullptr},
      {"dtype", GetDType, nullptr, "The element type.", nullptr},
      {"place", GetPlace, nullptr, "Where the elements lie.", nullptr},
      {"ndim", GetNdim, nullptr, "Number of dims.", nullptr},
      {"size", GetSize, nullptr, "Number of elements.", nullptr},
      {"T", GetTransposed, nullptr, "A view with the dims in reverse order.",
       nullptr},
      {"inplace_version", GetVersion, nullptr,
       "How often the elements were changed in place.", nullptr},
      {"type", GetType, nullptr,
       "The kind of tensor: 'DENSE_TENSOR' or 'SELECTED_ROWS'.", nullptr},
      {"name", GetName, SetName, "A name, made up when first asked for.",
       nullptr},
      {"persistable", GetPersistable, SetPersistable,
       "True for parameters and buffers, which are saved.", nullptr},
  };
  properties->insert(properties->end(), std::begin(rows), std::end(rows));
}

}  // namespace proa::inline v0::python
