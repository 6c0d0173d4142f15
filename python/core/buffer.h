// Tensors from objects with the buffer protocol (NumPy arrays, memoryview,
// array).
#ifndef PROA_PYTHON_CORE_BUFFER_H_
#define PROA_PYTHON_CORE_BUFFER_H_

#include <Python.h>

#include <optional>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

// A copy; nullopt if `o` has no buffer, or one in the other byte order. Throws
// TypeError for elements that no dtype holds (strings, objects, dates).
std::optional<Tensor> CopyBuffer(PyObject* o);

// The struct-module format of a dtype ("f"); null for bfloat16, which has none.
const char* BufferFormat(DType t);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_BUFFER_H_
