// The Python call stack of this thread: which frames are the user's, which
// layer runs. For messages, logs and profiles; a walk costs some microseconds.
#ifndef PROA_PYTHON_CORE_CALL_STACK_H_
#define PROA_PYTHON_CORE_CALL_STACK_H_

#include <string>
#include <vector>

#include "python/core/pybind.h"

namespace proa::inline v0::python {

struct Frame {
  std::string file;
  std::string function;
  int line = 0;
};

// The frames that are not of this package, innermost first, at most `most`.
// `inside`: set to whether the innermost frame of all is the package's. With
// the GIL held; throws nothing but std::bad_alloc, and leaves the error
// indicator as it is.
std::vector<Frame> UserFrames(int most, bool* inside = nullptr);

// "train.py:12", of the innermost of them; "" if there is none.
std::string LineText(const Frame& frame);
// What stands in that line; "" if the file cannot be read.
std::string SourceText(const Frame& frame);

// "Mlp.hidden (Linear)": the innermost layer that is being called, by its path
// from the outermost one; "" if none is. With the GIL held; throws nothing but
// std::bad_alloc.
std::string RunningLayer();

// "[2, 3] float32, mask=None": what that layer was called with.
std::string InputsOfRunningLayer();

// set_layer_call(code, path): `code` is that of Layer.__call__, whose frames
// are looked for; path(layers) names the last of a list of layers, outermost
// first.
void BindCallStack(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_CALL_STACK_H_
