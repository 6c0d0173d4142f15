#include "python/core/numpy.h"

#include <cstring>

#include "python/core/error.h"

namespace proa::inline v0::python {
namespace {

PyTypeObject* generic_type = nullptr;
PyTypeObject* array_type = nullptr;

// Finds the types once NumPy is there. Most types are told apart by the name of
// their module before that.
bool HaveTypes() {
  if (array_type != nullptr) [[likely]]
    return true;
  PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (numpy == nullptr) return false;
  PyObject* generic = PyObject_GetAttrString(numpy, "generic");
  PyObject* array = PyObject_GetAttrString(numpy, "ndarray");
  if (generic == nullptr || array == nullptr) {  // in the middle of its import
    PyErr_Clear();
    Py_XDECREF(generic);
    Py_XDECREF(array);
    return false;
  }
  generic_type = reinterpret_cast<PyTypeObject*>(generic);
  array_type = reinterpret_cast<PyTypeObject*>(array);
  return true;
}

}  // namespace

bool IsNumPyScalar(PyObject* o) {
  return HaveTypes() && PyObject_TypeCheck(o, generic_type);
}

bool IsNumPyArray(PyObject* o) {
  return HaveTypes() && PyObject_TypeCheck(o, array_type);
}

PyObject* NumPy(const char* name) {
  const Ref numpy = Ref::New(PyImport_ImportModule("numpy"));
  // NumPy keeps its own functions alive.
  const Ref attribute = Ref::New(PyObject_GetAttrString(numpy.get(), name));
  return attribute.get();
}

}  // namespace proa::inline v0::python
