// PyLayer: functions with a backward in Python, on top of autograd/function.h.
// `_C.PyLayerContext` is what their forward and backward get as `ctx`;
// `_C.call_py_layer(cls, args, kwargs)` is PyLayer.apply.
#ifndef PROA_PYTHON_CORE_PY_LAYER_H_
#define PROA_PYTHON_CORE_PY_LAYER_H_

#include <Python.h>

#include <vector>

#include "autograd/node.h"
#include "python/core/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

void BindPyLayer(PyObject* module);

// One call of PyLayer.apply; `kwargs` may be null.
Ref ApplyPyLayer(PyObject* layer, PyObject* args, PyObject* kwargs);

// What happens to a call with values of a program among its tensors, `inputs`
// (py_layer_program.cc); else it is called as any other.
using PyLayerRecorder = Ref (*)(PyObject* layer, PyObject* args,
                                PyObject* kwargs,
                                const std::vector<Tensor>& inputs);
void InstallPyLayerRecorder(PyLayerRecorder recorder);

// For the garbage collector (node_reference.h): what an owner of `node` shows
// of the call that made it, its context (borrowed); null if it is no PyLayer's.
PyObject* ContextOfNode(const autograd::Node& node);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_PY_LAYER_H_
