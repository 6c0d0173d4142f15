// Differentiation for Python beyond the methods of Tensor: backward and grad,
// the mode switches, and nodes whose formula is a Python function.
#ifndef PROA_PYTHON_CORE_AUTOGRAD_FUNCTIONS_H_
#define PROA_PYTHON_CORE_AUTOGRAD_FUNCTIONS_H_

#include <Python.h>

#include <span>

#include "autograd/engine.h"
#include "python/core/pybind.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

// Raises an error where this thread records a function for to_static: `what`,
// a step of training, has no place in it.
void RefuseInRecording(const char* what);

// autograd::Backward without the global lock. An undefined grad means ones.
void RunBackward(std::span<const Tensor> outputs, std::span<const Tensor> grads,
                 const autograd::BackwardOptions& options);

void BindAutograd(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_AUTOGRAD_FUNCTIONS_H_
