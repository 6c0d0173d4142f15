// What Python may ask of values of programs before the program runs: the
// elements of constants, to be found by a name, sizes that are open.
#ifndef PROA_PYTHON_CORE_SYMBOLIC_H_
#define PROA_PYTHON_CORE_SYMBOLIC_H_

#include <Python.h>

#include "tensor/tensor.h"

namespace proa::inline v0::python {

// `t` itself if it is not symbolic; else its elements if it is a constant of
// its program; else undefined.
Tensor TryElements(const Tensor& t);
// The same, or an Error that says that `what` has no elements yet.
Tensor Elements(const char* what, const Tensor& t);
// The value of a symbolic tensor is found by this name in its program.
void NameSymbolic(const Tensor& t, const char* name);

// Sizes that only the run of a program knows: objects of the Python class
// proa.framework.size.Size, which stand in `shape` and go where a size goes.
bool IsOpenSize(PyObject* o);
// Whether `o` is an open size, or a tensor of a program whose elements only the
// run of the program knows.
bool IsLate(PyObject* o);
// The size as a 0-d int64 tensor of the program.
Tensor TensorOfSize(PyObject* o);
// A new object for the size of `t` along `axis`; -1: its number of elements.
// Null with a Python error.
PyObject* NewOpenSize(const Tensor& t, int axis);
void SetSizeType(PyObject* type);

// By the part that knows programs.
struct SymbolicFunctions {
  // The elements of a symbolic tensor, or an undefined one.
  Tensor (*elements)(const Tensor& t) = nullptr;
  void (*name)(const Tensor& t, const char* name) = nullptr;
};
void InstallSymbolic(const SymbolicFunctions& functions);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_SYMBOLIC_H_
