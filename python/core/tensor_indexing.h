// x[key] and x[key] = value.
#ifndef PROA_PYTHON_CORE_TENSOR_INDEXING_H_
#define PROA_PYTHON_CORE_TENSOR_INDEXING_H_

#include <Python.h>

#include "tensor/tensor.h"

namespace proa::inline v0::python {

// A new reference.
PyObject* GetItem(PyObject* self, PyObject* key);
int SetItem(PyObject* self, PyObject* key, PyObject* value);

// x[i] for 0 <= i < size(0), a view.
Tensor SelectFirst(const Tensor& x, int64_t i);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_INDEXING_H_
