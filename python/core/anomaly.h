// Anomaly mode for Python: finds the user's line that records a node
// (autograd/anomaly.h says what the mode is).
#ifndef PROA_PYTHON_CORE_ANOMALY_H_
#define PROA_PYTHON_CORE_ANOMALY_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

// While it is required, nodes remember their forward calls whatever mode was
// asked for.
void RequireForwardTraces(bool required);

void BindAnomalyMode(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_ANOMALY_H_
