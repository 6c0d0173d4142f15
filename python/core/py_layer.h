// PyLayer: functions with a backward in Python, on top of autograd/function.h.
// `_C.PyLayerContext` is what their forward and backward get as `ctx`;
// `_C.call_py_layer(cls, args, kwargs)` is PyLayer.apply.
#ifndef PROA_PYTHON_CORE_PY_LAYER_H_
#define PROA_PYTHON_CORE_PY_LAYER_H_

#include <Python.h>

#include "tensor/tensor.h"

namespace proa::inline v0::python {

void BindPyLayer(PyObject* module);

// For the garbage collector: the context (borrowed) of the call that made `t`,
// if the handle, and through it the graph node, have no other owner; else null.
// Dropping cuts the tensor from what its context refers to.
PyObject* SoleContext(const Tensor& t);
void DropSoleContext(const Tensor& t);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_PY_LAYER_H_
