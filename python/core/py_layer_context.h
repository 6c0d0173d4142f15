// `_C.PyLayerContext`: what forward and backward of a PyLayer get as `ctx`, a
// FunctionContext (autograd/function.h) to which Python may add attributes.
#ifndef PROA_PYTHON_CORE_PY_LAYER_CONTEXT_H_
#define PROA_PYTHON_CORE_PY_LAYER_CONTEXT_H_

#include <Python.h>

#include "autograd/function.h"

namespace proa::inline v0::python {

struct ContextObject {
  PyObject_HEAD autograd::FunctionContext context;
  PyObject* pattern;  // of what was saved; null for a plain row of tensors
  PyObject* dict;
  PyObject* weakrefs;
};

// A new reference.
PyObject* NewPyLayerContext();
// `o` is a PyLayerContext.
inline autograd::FunctionContext& ContextOf(PyObject* o) {
  return reinterpret_cast<ContextObject*>(o)->context;
}

void BindPyLayerContext(PyObject* module);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_PY_LAYER_CONTEXT_H_
