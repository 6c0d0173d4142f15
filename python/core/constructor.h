// Objects of classes that pybind11 binds, made so that a lack of memory is an
// exception. Constructors of py::init end the process then: pybind11 notes the
// new object behind the place where exceptions are caught. And of a
// std::shared_ptr that a function returns pybind11 deletes what it points to,
// which is the pointer's. These note it before, and leave it alone.
//
//   py::class_<OpenFile>(m, "AtomicFile")
//       .def("__init__",
//            Constructor<const std::string&>([](const std::string& path) {
//              return std::make_unique<OpenFile>(path);
//            }),
//            kIsConstructor, py::arg("path"));
//
//   namespace pybind11::detail {
//   template <>
//   class type_caster<std::shared_ptr<Program>> : public SharedCaster<Program>
//   {
//   };
//   }  // namespace pybind11::detail
#ifndef PROA_PYTHON_CORE_CONSTRUCTOR_H_
#define PROA_PYTHON_CORE_CONSTRUCTOR_H_

#include <memory>
#include <typeinfo>
#include <utility>

#include "python/core/error.h"
#include "python/core/pybind.h"

namespace proa::inline v0::python {

inline constexpr pybind11::detail::is_new_style_constructor kIsConstructor;

namespace internal {
// Gives the new object `self` what `holder` holds; a holder that could not be
// given stays as it is.
template <typename Holder>
void Hold(pybind11::detail::value_and_holder self, Holder& holder) {
  self.value_ptr() = holder.get();
  try {
    self.type->init_instance(self.inst, &holder);
  } catch (...) {
    self.value_ptr() = nullptr;
    throw;
  }
}
}  // namespace internal

// The function __init__ of a class: `make(args...)` gives what holds the new
// object, of the class's holder type (std::unique_ptr unless it names another).
template <typename... Args, typename Make>
auto Constructor(Make make) {
  return [make = std::move(make)](pybind11::detail::value_and_holder& self,
                                  Args... args) {
    auto holder = make(std::forward<Args>(args)...);
    internal::Hold(self, holder);
  };
}

// Of std::shared_ptr<T>, the holder of a bound class without subclasses in C++.
// Hidden as all that pybind11 declares.
template <typename T>
class __attribute__((visibility("hidden"))) SharedCaster
    : public pybind11::detail::copyable_holder_caster<T, std::shared_ptr<T>> {
 public:
  static pybind11::handle cast(std::shared_ptr<T> holder,
                               pybind11::return_value_policy,
                               pybind11::handle) {
    namespace py = pybind11;
    if (holder == nullptr) return py::none().release();
    const py::detail::type_info* type =
        py::detail::get_type_info(typeid(T), /*throw_if_missing=*/true);
    if (py::handle known =
            py::detail::find_registered_python_instance(holder.get(), type))
      return known;
    auto object = py::reinterpret_steal<py::object>(
        Check(py::detail::make_new_instance(type->type)));
    auto* const instance =
        reinterpret_cast<py::detail::instance*>(object.ptr());
    internal::Hold(instance->get_value_and_holder(type), holder);
    return object.release();
  }
};

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_CONSTRUCTOR_H_
