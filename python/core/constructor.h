// Constructors of classes that pybind11 binds. Those of py::init end the
// process when memory is out: pybind11 notes the new object behind the place
// where exceptions are caught. These note it before.
//
//   py::class_<OpenFile>(m, "AtomicFile")
//       .def("__init__",
//            Constructor<const std::string&>([](const std::string& path) {
//              return std::make_unique<OpenFile>(path);
//            }),
//            kIsConstructor, py::arg("path"));
#ifndef PROA_PYTHON_CORE_CONSTRUCTOR_H_
#define PROA_PYTHON_CORE_CONSTRUCTOR_H_

#include <utility>

#include "python/core/pybind.h"

namespace proa::inline v0::python {

inline constexpr pybind11::detail::is_new_style_constructor kIsConstructor;

// The function __init__ of a class: `make(args...)` gives what holds the new
// object, of the class's holder type (std::unique_ptr unless it names another).
template <typename... Args, typename Make>
auto Constructor(Make make) {
  return [make = std::move(make)](pybind11::detail::value_and_holder& self,
                                  Args... args) {
    auto holder = make(std::forward<Args>(args)...);
    self.value_ptr() = holder.get();
    try {
      self.type->init_instance(self.inst, &holder);
    } catch (...) {
      self.value_ptr() = nullptr;  // the holder's, still
      throw;
    }
  };
}

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_CONSTRUCTOR_H_
