// Tensors from Python data: numbers, nested lists, NumPy arrays, buffers,
// Tensors.
#ifndef PROA_PYTHON_CORE_TO_TENSOR_H_
#define PROA_PYTHON_CORE_TO_TENSOR_H_

#include <Python.h>

#include <optional>

#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

// A copy of the data of `o`, without grad state. Without `dtype`: bool, int64,
// the default float type or its complex type for Python numbers; the dtype of
// an array or Tensor (unsigned integers that have no counterpart: the next
// wider integer). Lists may mix numbers, arrays and Tensors. Throws ValueError
// for ragged lists, TypeError for what holds no numbers.
Tensor ToTensor(PyObject* o, std::optional<DType> dtype,
                std::optional<Place> place);
// The same, with the arguments of `to_tensor` still in Python; None: not given.
Tensor ToTensor(PyObject* o, PyObject* dtype, PyObject* place);

// `t` as another dtype, or on another place, without grad state; `t` itself if
// it is that already.
Tensor Converted(const Tensor& t, std::optional<DType> dtype,
                 std::optional<Place> place);

// Adds the function to_tensor to the module.
void BindToTensor(PyObject* module);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TO_TENSOR_H_
