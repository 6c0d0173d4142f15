// Reports on the backward graph for Python: graph_text, graph_dot,
// saved_summary.
#ifndef PROA_PYTHON_CORE_GRAPH_REPORTS_H_
#define PROA_PYTHON_CORE_GRAPH_REPORTS_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

void BindGraphReports(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_GRAPH_REPORTS_H_
