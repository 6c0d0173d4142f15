// Streams and events of a device, and the stream that a thread works on.
#ifndef PROA_PYTHON_CORE_STREAMS_H_
#define PROA_PYTHON_CORE_STREAMS_H_

#include <pybind11/pybind11.h>

namespace proa::inline v0::python {

void BindStreams(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_STREAMS_H_
