// What is needed of NumPy, without its C interface: so the module works with
// any NumPy, and with none until an array is asked for or given.
#ifndef PROA_PYTHON_CORE_NUMPY_H_
#define PROA_PYTHON_CORE_NUMPY_H_

#include <Python.h>

namespace proa::inline v0::python {

// Both are false as long as the program has not imported NumPy.
bool IsNumPyScalar(PyObject* o);  // numpy.generic
bool IsNumPyArray(PyObject* o);   // numpy.ndarray

// numpy.<name>, importing NumPy; a borrowed reference. Throws PythonError.
PyObject* NumPy(const char* name);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_NUMPY_H_
