// A method of Tensor that is an op's function: `Tensor.lerp(x=a, y=b,
// weight=w)` is `lerp(x=a, y=b, weight=w)`, and `a.lerp(b, w)` the same.
// CPython's own method descriptors take the first argument by position only.
#ifndef PROA_PYTHON_CORE_OP_METHOD_H_
#define PROA_PYTHON_CORE_OP_METHOD_H_

#include <Python.h>

#include "python/core/bindings.h"

namespace proa::inline v0::python {

// A new reference. `binding` and `owner`, the type that gets the method, live
// as long as the process.
PyObject* NewOpMethod(const Binding& binding, PyObject* owner);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_OP_METHOD_H_
