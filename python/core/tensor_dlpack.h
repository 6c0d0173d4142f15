// Tensors from objects and capsules of DLPack's Python protocol.
#ifndef PROA_PYTHON_CORE_TENSOR_DLPACK_H_
#define PROA_PYTHON_CORE_TENSOR_DLPACK_H_

#include <Python.h>

#include "tensor/tensor.h"

namespace proa::inline v0::python {

// Shares the memory of the producer. `o` has __dlpack__ or is a capsule.
Tensor TensorFromDLPack(PyObject* o);

// A new capsule "dltensor", for consumers that know no versions.
PyObject* MakeDLPackCapsule(const Tensor& t);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_DLPACK_H_
