// Places in Python: `_C.Place`, and CPUPlace(), CUDAPlace(i), CUDAPinnedPlace()
// that make them.
#ifndef PROA_PYTHON_CORE_PLACE_OBJECT_H_
#define PROA_PYTHON_CORE_PLACE_OBJECT_H_

#include <Python.h>

#include <optional>

#include "python/core/pybind.h"
#include "tensor/place.h"

namespace proa::inline v0::python {

// A new reference.
PyObject* WrapPlace(Place place);
// From a Place or its name ("cpu", "gpu:1"); nullopt for other types. Throws
// Error for a name that no device has.
std::optional<Place> FindPlace(PyObject* o);

void BindPlaces(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_PLACE_OBJECT_H_
