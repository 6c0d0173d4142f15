// proa.GradNode: a node of the backward graph as Python sees it,
// `Tensor.grad_fn`. A node may have several such objects; they are equal. All
// functions need the global lock.
#ifndef PROA_PYTHON_CORE_GRAD_NODE_H_
#define PROA_PYTHON_CORE_GRAD_NODE_H_

#include <Python.h>

#include "autograd/node.h"
#include "tensor/intrusive_ptr.h"

namespace proa::inline v0::python {

// A new reference; None for null.
PyObject* WrapNode(IntrusivePtr<autograd::Node> node);

// Adds the type to the module.
void MakeGradNodeType(PyObject* module);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_GRAD_NODE_H_
