#include "python/core/amp.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "amp/autocast.h"
#include "amp/cast_cache.h"
#include "pybind11/stl.h"
#include "python/core/dtype_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

uint32_t Settings(const py::object& dtype, bool o2,
                  std::vector<std::string> lower,
                  std::vector<std::string> raise) {
  const std::optional<DType> type = FindDType(dtype.ptr());
  PROA_REQUIRE(type.has_value(), "auto_cast: dtype must be float16 or ",
               "bfloat16, not ", py::cast<std::string>(py::repr(dtype)));
  return amp::RegisterAutocast(
      {.dtype = *type,
       .level = o2 ? amp::AutocastLevel::kO2 : amp::AutocastLevel::kO1,
       .lower = std::move(lower),
       .raise = std::move(raise)});
}

py::object Current() {
  const amp::Autocast* a = amp::CurrentAutocast();
  if (a == nullptr) return py::none();
  return py::make_tuple(Name(a->dtype),
                        a->level == amp::AutocastLevel::kO2 ? "O2" : "O1");
}

}  // namespace

void BindAmp(py::module_& parent) {
  py::module_ m = parent.def_submodule("amp", "Mixed precision.");
  m.def("settings", &Settings, py::arg("dtype"), py::arg("o2"),
        py::arg("lower"), py::arg("raise_"),
        "The number of settings of autocast.");
  m.def("exchange", &amp::ExchangeAutocast, py::arg("settings"),
        "Switches this thread to settings, 0 for none; returns what was on.");
  m.def("begin_cast_cache", &amp::BeginCastCache,
        "Lets this thread keep casts of parameters; False if it does already.");
  m.def("end_cast_cache", &amp::EndCastCache,
        "Gives the memory of the kept casts back.");
  m.def("num_kept_casts", &amp::NumKeptCasts,
        "How many casts this thread keeps.");
  m.def(
      "number", [] { return thread_interpreters.autocast; },
      "The number of the settings that are on; 0 if autocast is off.");
  m.def("current", &Current, "(dtype, level), or None if autocast is off.");
}

}  // namespace proa::inline v0::python
