// What FLAGS switch in the core (`_C.debug`): the check for NaN and Inf, the
// log of op calls, what errors show, the crash handler; and facts about this
// build for bug reports.
#ifndef PROA_PYTHON_CORE_DEBUG_H_
#define PROA_PYTHON_CORE_DEBUG_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

void BindDebug(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_DEBUG_H_
