#include "python/core/place_object.h"

#include <string>
#include <string_view>

#include "python/core/error.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

struct PyPlace {
  Place place;
};

Place Parse(std::string_view text) {
  // Paddle writes Place(gpu:0) and, in older programs, CPUPlace.
  if (text.starts_with("Place(") && text.ends_with(")")) {
    text = text.substr(6, text.size() - 7);
  }
  return ParsePlace(text);
}

PyPlace CudaPlace(int index) {
  PROA_REQUIRE(index >= 0 && index < 32768, "CUDAPlace: the index is ", index,
               "; it is at least 0");
  return {{DeviceKind::kGPU, static_cast<int16_t>(index)}};
}

}  // namespace

PyObject* WrapPlace(Place place) {
  return py::cast(PyPlace{place}).release().ptr();
}

std::optional<Place> FindPlace(PyObject* o) {
  if (PyUnicode_Check(o)) {
    Py_ssize_t size;
    const char* text = Check(PyUnicode_AsUTF8AndSize(o, &size));
    return Parse({text, static_cast<size_t>(size)});
  }
  if (!py::isinstance<PyPlace>(o)) return std::nullopt;
  return py::cast<PyPlace&>(py::handle(o)).place;
}

void BindPlaces(py::module_& m) {
  py::class_<PyPlace>(m, "Place",
                      "Where a tensor lies: Place('cpu'), Place('gpu:0').")
      .def(py::init(
               [](const std::string& name) { return PyPlace{Parse(name)}; }),
           py::arg("name") = "cpu")
      .def("is_cpu_place", [](const PyPlace& p) { return p.place.is_cpu(); })
      .def("is_gpu_place",
           [](const PyPlace& p) { return p.place.kind == DeviceKind::kGPU; })
      .def("is_cuda_pinned_place", [](const PyPlace&) { return false; })
      .def("is_custom_place",
           [](const PyPlace& p) {
             return p.place.kind >= DeviceKind::kFirstCustom;
           })
      .def("get_device_id", [](const PyPlace& p) { return p.place.index; })
      .def("gpu_device_id", [](const PyPlace& p) { return p.place.index; })
      .def("get_device_type",
           [](const PyPlace& p) { return DeviceKindName(p.place.kind); })
      .def_property_readonly(
          "kind", [](const PyPlace& p) { return DeviceKindName(p.place.kind); })
      .def_property_readonly("index",
                             [](const PyPlace& p) { return p.place.index; })
      .def_property_readonly("name",
                             [](const PyPlace& p) { return ToString(p.place); })
      .def("__repr__",
           [](const PyPlace& p) { return "Place(" + ToString(p.place) + ")"; })
      .def("__eq__",
           [](const PyPlace& p, const py::object& o) {
             try {
               const std::optional<Place> other = FindPlace(o.ptr());
               return other.has_value() && *other == p.place;
             } catch (const Error&) {  // a str that names no device
               return false;
             }
           })
      .def("__hash__",
           [](const PyPlace& p) {
             return static_cast<int>(p.place.kind) * 65536 + p.place.index;
           })
      .def("__reduce__", [](const py::object& self) {
        return py::make_tuple(self.attr("__class__"),
                              py::make_tuple(self.attr("name")));
      });
  m.def(
      "CPUPlace", [] { return PyPlace{}; }, "The place of host memory.");
  m.def("CUDAPlace", &CudaPlace, py::arg("id") = 0, "The place of GPU `id`.");
  m.def(
      "CUDAPinnedPlace", [] { return PyPlace{}; },
      "Host memory; pinning is left to the allocator.");
}

}  // namespace proa::inline v0::python
