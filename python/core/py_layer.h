// PyLayer: functions with a backward in Python, on top of autograd/function.h.
// `_C.PyLayerContext` is what their forward and backward get as `ctx`;
// `_C.call_py_layer(cls, args, kwargs)` is PyLayer.apply.
#ifndef PROA_PYTHON_CORE_PY_LAYER_H_
#define PROA_PYTHON_CORE_PY_LAYER_H_

#include <Python.h>

#include "autograd/node.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

void BindPyLayer(PyObject* module);

// For the garbage collector, which each Python object that owns a reference to
// a graph node shows this (borrowed) as well: the context of the call that made
// `t`, if the handle is the caller's alone; else null.
PyObject* ContextOfOwnedNode(const Tensor& t);
// The same for an object that owns the node itself.
PyObject* ContextOfNode(const autograd::Node& node);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_PY_LAYER_H_
