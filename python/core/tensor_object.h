// TensorObject: the CPython object `proa.Tensor`, one word of which is a
// proa::Tensor; and the way between the two.
//
// A description (TensorImpl) has at most one Python object at a time, to which
// it points back: wrapping it again gives the same object, so `is` and
// attributes set from Python hold while the object lives. Exact Tensors come
// from a free list. All functions need the global lock.
#ifndef PROA_PYTHON_CORE_TENSOR_OBJECT_H_
#define PROA_PYTHON_CORE_TENSOR_OBJECT_H_

#include <Python.h>

#include <tuple>
#include <utility>
#include <vector>

#include "python/core/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;  // attributes set from Python; null until the first
  PyObject* weakrefs;
  PyObject* name;  // str; null until asked for or set
  bool persistable;
  // stop_gradient = False was set on integers, which have no gradient.
  bool asked_for_grad;
};

// The type, a heap type so that Python may add methods. Set by MakeTensorType.
extern PyTypeObject* tensor_type;

inline bool IsExactTensor(PyObject* o) { return Py_TYPE(o) == tensor_type; }
inline bool IsTensor(PyObject* o) {
  return IsExactTensor(o) || PyType_IsSubtype(Py_TYPE(o), tensor_type);
}
// `o` is a Tensor. The reference lives as long as the object: the handle inside
// is never replaced.
inline const Tensor& Unwrap(PyObject* o) {
  return reinterpret_cast<TensorObject*>(o)->tensor;
}

// A new reference to the object of `t`; None if it is undefined.
PyObject* WrapNew(Tensor t);
inline PyObject* Wrap(Tensor t) {
  TensorImpl* impl = t.impl();
  if (impl != nullptr && impl->python_object != nullptr) [[unlikely]] {
    PyObject* o = static_cast<PyObject*>(impl->python_object);
    Py_INCREF(o);
    return o;
  }
  return WrapNew(std::move(t));
}

// Wrap, for one of several results of an op, which share a graph node: each
// shows the collector the hooks of all.
PyObject* WrapOneOfSeveral(Tensor t);
// A list of tensors, a tuple of results.
PyObject* Wrap(std::vector<Tensor> ts);
template <typename... Ts>
PyObject* Wrap(std::tuple<Ts...> ts) {
  Ref tuple = Ref::New(PyTuple_New(sizeof...(Ts)));
  Py_ssize_t i = 0;
  std::apply(
      [&](Ts&... t) {
        (PyTuple_SET_ITEM(tuple.get(), i++,
                          Check(WrapOneOfSeveral(std::move(t)))),
         ...);
      },
      ts);
  return tuple.release();
}

// An object of a subclass over `t`, which must have no object yet.
PyObject* WrapAs(PyTypeObject* type, Tensor t);

// Lets the garbage collector see the object; called when it gets something (an
// attribute, a hook) through which it can take part in a cycle.
void TrackForCollector(TensorObject* self);

// Adds the type to the module.
void MakeTensorType(PyObject* module);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_OBJECT_H_
