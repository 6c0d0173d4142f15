#include "python/core/symbolic.h"

#include "python/core/error.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

constinit SymbolicFunctions installed;
constinit PyObject* size_type = nullptr;  // for ever

}  // namespace

void InstallSymbolic(const SymbolicFunctions& functions) {
  installed = functions;
}

Tensor TryElements(const Tensor& t) {
  if (!t.is_symbolic()) return t;
  return installed.elements != nullptr ? installed.elements(t) : Tensor();
}

Tensor Elements(const char* what, const Tensor& t) {
  Tensor out = TryElements(t);
  if (!out.defined()) {
    Fail(
        absl::StatusCode::kFailedPrecondition, what,
        ": a tensor of a program has no elements until the program runs; x is ",
        Describe(t));
  }
  return out;
}

bool IsOpenSize(PyObject* o) {
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == size_type;
}

bool IsLate(PyObject* o) {
  if (IsOpenSize(o)) return true;
  return IsTensor(o) && Unwrap(o).defined() && Unwrap(o).is_symbolic() &&
         !TryElements(Unwrap(o)).defined();
}

Tensor TensorOfSize(PyObject* o) {
  const Ref tensor = Ref::New(PyObject_CallMethod(o, "tensor", nullptr));
  return Unwrap(tensor.get());
}

PyObject* NewOpenSize(const Tensor& t, int axis) {
  if (size_type == nullptr) {  // its module sets it
    const Ref module = Ref::New(PyImport_ImportModule("proa.framework.size"));
  }
  // Another handle: what `t` becomes in place later has other sizes.
  const Ref of = Ref::New(Wrap(t.Alias()));
  if (axis < 0) {
    return PyObject_CallFunction(size_type, "OO", of.get(), Py_None);
  }
  return PyObject_CallFunction(size_type, "Oi", of.get(), axis);
}

void SetSizeType(PyObject* type) {
  Py_INCREF(type);
  size_type = type;
}

void NameSymbolic(const Tensor& t, const char* name) {
  if (installed.name != nullptr) installed.name(t, name);
}

}  // namespace proa::inline v0::python
