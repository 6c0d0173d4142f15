// What a pickled Tensor calls to come back.
#ifndef PROA_PYTHON_CORE_TENSOR_PICKLE_H_
#define PROA_PYTHON_CORE_TENSOR_PICKLE_H_

#include <Python.h>

namespace proa::inline v0::python {

// A new object. Sizes are checked against the bytes. Throws for anything that
// does not fit together.
PyObject* RebuildTensor(PyObject* args);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_PICKLE_H_
