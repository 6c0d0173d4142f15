// Parts of the module that other rooms add: a static object of this class in a
// source that is linked into the extension binds its part when the module is
// made.
//
//   const ModulePart part([](pybind11::module_& m) { BindPrograms(m); });
#ifndef PROA_PYTHON_CORE_MODULE_H_
#define PROA_PYTHON_CORE_MODULE_H_

#include "python/core/pybind.h"

namespace proa::inline v0::python {

class ModulePart {
 public:
  using Bind = void (*)(pybind11::module_& m);
  explicit ModulePart(Bind bind);
};

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_MODULE_H_
