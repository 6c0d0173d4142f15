// Copies of Tensor objects by `copy` and `pickle`, without NumPy.
#include <Python.h>

#include <cstring>
#include <string>

#include "autograd/grad_state.h"
#include "ops/elementwise/cast_ops.h"
#include "python/core/dtype_object.h"
#include "python/core/error.h"
#include "python/core/place_object.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "python/core/tensor_pickle.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::python {
namespace {

void RequireLeaf(const char* what, const Tensor& t) {
  if (!autograd::IsLeaf(t)) {
    Fail(absl::StatusCode::kFailedPrecondition, what,
         ": only tensors that were made by the program itself can be copied "
         "with their "
         "grad state; take detach() of this one; x is ",
         Describe(t));
  }
}

// Name, flags and attributes go along.
void CopyState(const TensorObject* from, TensorObject* to) {
  if (from->name != nullptr) Py_XSETREF(to->name, Py_NewRef(from->name));
  to->persistable = from->persistable;
}

PyObject* DeepCopy(PyObject* self, PyObject* memo) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    RequireLeaf("deepcopy", t);
    Tensor copied;
    {
      const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
      copied = ops::assign(t);
    }
    if (autograd::RequiresGrad(t)) autograd::SetRequiresGrad(copied, true);
    Ref out = Ref::New(WrapAs(Py_TYPE(self), std::move(copied)));
    auto* from = reinterpret_cast<TensorObject*>(self);
    auto* to = reinterpret_cast<TensorObject*>(out.get());
    CopyState(from, to);
    const Ref id = Ref::New(PyLong_FromVoidPtr(self));
    if (PyDict_Check(memo))
      CheckStatus(PyDict_SetItem(memo, id.get(), out.get()));
    if (from->dict != nullptr) {
      const Ref copy = Ref::New(PyImport_ImportModule("copy"));
      to->dict = Check(
          PyObject_CallMethod(copy.get(), "deepcopy", "OO", from->dict, memo));
      TrackForCollector(to);
    }
    return out.release();
  });
}

// rebuild_tensor(type, bytes, shape, dtype, place, stop_gradient, name,
// persistable), and the attributes as state.
PyObject* Reduce(PyObject* self, PyObject*) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    RequireLeaf("pickle", t);
    if (t.is_symbolic()) {
      Fail(absl::StatusCode::kFailedPrecondition,
           "pickle: a tensor of a program has no elements; x is ", Describe(t));
    }
    const Tensor host = Contiguous(t.place().is_cpu() ? t : CopyTo(t, Place{}));
    const auto* object = reinterpret_cast<TensorObject*>(self);
    const Ref bytes = Ref::New(
        PyBytes_FromStringAndSize(static_cast<const char*>(host.raw_data()),
                                  host.numel() == 0 ? 0 : host.bytes()));
    const Ref shape = Ref::New(PyObject_GetAttrString(self, "shape"));
    const Ref dtype = Ref::New(WrapDType(t.dtype()));
    const Ref dtype_name =
        Ref::New(PyObject_GetAttrString(dtype.get(), "name"));
    const Ref module = Ref::New(PyImport_ImportModule("proa._C"));
    const Ref rebuild =
        Ref::New(PyObject_GetAttrString(module.get(), "rebuild_tensor"));
    return Check(Py_BuildValue(
        "O(OOOOsOOO)O", rebuild.get(),
        reinterpret_cast<PyObject*>(Py_TYPE(self)), bytes.get(), shape.get(),
        dtype_name.get(), ToString(t.place()).c_str(),
        autograd::RequiresGrad(t) ? Py_False : Py_True,
        object->name != nullptr ? object->name : Py_None,
        object->persistable ? Py_True : Py_False,
        object->dict != nullptr ? object->dict : Py_None));
  });
}

}  // namespace

PyObject* RebuildTensor(PyObject* args) {
  PyObject *type, *bytes, *shape, *dtype, *place, *stop_gradient, *name,
      *persistable;
  CheckStatus(PyArg_ParseTuple(args, "OSO!OOOOO:rebuild_tensor", &type, &bytes,
                               &PyList_Type, &shape, &dtype, &place,
                               &stop_gradient, &name, &persistable)
                  ? 0
                  : -1);
  const auto* python_type = reinterpret_cast<PyTypeObject*>(type);
  if (!PyType_Check(type) ||
      !PyType_IsSubtype(const_cast<PyTypeObject*>(python_type), tensor_type)) {
    ThrowTypeError("rebuild_tensor: " + TextOf(type) + " is no Tensor type");
  }
  const std::optional<DType> t = FindDType(dtype);
  if (!t)
    ThrowTypeError("rebuild_tensor: " + TextOf(dtype) + " is no element type");
  Shape sizes;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(shape); ++i) {
    const int64_t size = PyLong_AsLongLong(PyList_GET_ITEM(shape, i));
    if (size == -1 && PyErr_Occurred()) throw PythonError();
    sizes.push_back(size);
  }
  for (const int64_t size : sizes) {
    PROA_REQUIRE(size >= 0, "rebuild_tensor: shape ", ToString(sizes),
                 " has a negative size");
  }
  // Before memory is taken.
  const int64_t expected = CheckedMul(sizes.numel(), ItemSize(*t));
  PROA_REQUIRE(PyBytes_GET_SIZE(bytes) == expected,
               "rebuild_tensor: ", PyBytes_GET_SIZE(bytes), " bytes for shape ",
               ToString(sizes), " ", Name(*t), ", which has ", expected);
  Tensor out = Tensor::Empty(sizes, *t);
  if (expected > 0)
    std::memcpy(out.raw_data(), PyBytes_AS_STRING(bytes), expected);
  const std::optional<Place> p = FindPlace(place);
  if (p && !p->is_cpu()) out = CopyTo(out, *p);
  if (stop_gradient == Py_False) autograd::SetRequiresGrad(out, true);
  Ref object =
      Ref::New(WrapAs(const_cast<PyTypeObject*>(python_type), std::move(out)));
  auto* self = reinterpret_cast<TensorObject*>(object.get());
  if (PyUnicode_Check(name)) Py_XSETREF(self->name, Py_NewRef(name));
  self->persistable = persistable == Py_True;
  return object.release();
}

void AddPickling(Methods* methods) {
  methods->push_back({"__deepcopy__", &DeepCopy, METH_O, nullptr});
  methods->push_back({"__reduce_ex__", &Reduce, METH_O, nullptr});
  methods->push_back({"__reduce__", &Reduce, METH_NOARGS, nullptr});
}

}  // namespace proa::inline v0::python
