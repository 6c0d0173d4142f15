// `_C.DType`: one Python object for each element type, compared by `is` or
// `==`, also with names ("float32") and NumPy dtypes.
#ifndef PROA_PYTHON_CORE_DTYPE_OBJECT_H_
#define PROA_PYTHON_CORE_DTYPE_OBJECT_H_

#include <Python.h>

#include <optional>

#include "tensor/dtype.h"

namespace proa::inline v0::python {

// A new reference to the object of `t`.
PyObject* WrapDType(DType t);

// From a DType, a name ("float32", "proa.float32", "paddle.float32"), a NumPy
// dtype or scalar type, or Python's bool, int, float and complex; nullopt for
// anything else.
std::optional<DType> FindDType(PyObject* o);

// Adds the type and its twelve objects (`_C.float32`, ...) to the module.
void MakeDTypeType(PyObject* module);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_DTYPE_OBJECT_H_
