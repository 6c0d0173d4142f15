// The registry of ops for Python: what tools, tests and docs loop over.
#ifndef PROA_PYTHON_CORE_OP_REGISTRY_H_
#define PROA_PYTHON_CORE_OP_REGISTRY_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

void BindOpRegistry(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_OP_REGISTRY_H_
