// Autocast (`_C.amp`): settings by number, and which ones this thread has.
#ifndef PROA_PYTHON_CORE_AMP_H_
#define PROA_PYTHON_CORE_AMP_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

void BindAmp(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_AMP_H_
