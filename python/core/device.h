// Devices, memory, threads and random state for Python.
#ifndef PROA_PYTHON_CORE_DEVICE_H_
#define PROA_PYTHON_CORE_DEVICE_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

void BindDevice(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_DEVICE_H_
