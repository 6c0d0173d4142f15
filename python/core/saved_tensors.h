// Saved-tensor hooks whose functions are Python's
// (autograd/saved_tensor_hooks.h).
#ifndef PROA_PYTHON_CORE_SAVED_TENSORS_H_
#define PROA_PYTHON_CORE_SAVED_TENSORS_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

void BindSavedTensors(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_SAVED_TENSORS_H_
