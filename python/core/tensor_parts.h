// The parts of which MakeTensorType builds the Tensor type, one file each.
// Adding a method by hand: a row in the table of the file whose subject it is.
#ifndef PROA_PYTHON_CORE_TENSOR_PARTS_H_
#define PROA_PYTHON_CORE_TENSOR_PARTS_H_

#include <Python.h>

#include <vector>

namespace proa::inline v0::python {

using Slots = std::vector<PyType_Slot>;
using Methods = std::vector<PyMethodDef>;
using Properties = std::vector<PyGetSetDef>;

void AddProperties(Properties* properties);            // tensor_properties.cc
void AddBasicMethods(Methods* methods);                // tensor_methods.cc
void AddConversions(Methods* methods, Slots* slots);   // tensor_conversions.cc
void AddArrayMethods(Methods* methods, Slots* slots);  // tensor_array.cc
void AddDLPackMethods(Methods* methods);               // tensor_dlpack.cc
void AddAutogradMethods(Methods* methods,
                        Properties* properties);  // tensor_autograd.cc
void AddOperators(Slots* slots);                  // tensor_operators.cc
void AddIndexing(Slots* slots);                   // tensor_indexing.cc
void AddSharingMethods(Methods* methods);         // tensor_sharing.cc
void AddPickling(Methods* methods);               // tensor_pickle.cc
PyObject* Repr(PyObject* self);                   // tensor_repr.cc

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_PARTS_H_
