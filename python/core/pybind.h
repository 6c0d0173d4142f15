// pybind11, with references that end as those of Ref do (BeforeGivingBack in
// error.h): the only way to include pybind11/pybind11.h in the module.
#ifndef PROA_PYTHON_CORE_PYBIND_H_
#define PROA_PYTHON_CORE_PYBIND_H_

#include <Python.h>

#include "python/core/error.h"

// pybind11 drops what its objects hold by this macro of Python.
#pragma push_macro("Py_XDECREF")
#undef Py_XDECREF
#define Py_XDECREF(o) ::proa::python::GiveBack(o)
#include "pybind11/pybind11.h"  // IWYU pragma: export
#pragma pop_macro("Py_XDECREF")

#endif  // PROA_PYTHON_CORE_PYBIND_H_
