#include "python/core/place_object.h"

#include <memory>
#include <string>
#include <string_view>

#include "python/core/constructor.h"
#include "python/core/error.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

struct PyPlace {
  Place place;
};
// Types of their own, so that programs may ask isinstance(p, CPUPlace).
struct PyCPUPlace : PyPlace {};
struct PyCUDAPlace : PyPlace {};
struct PyCUDAPinnedPlace : PyPlace {};
struct PyXPUPlace : PyPlace {};
struct PyNPUPlace : PyPlace {};
struct PyCustomPlace : PyPlace {};

Place Parse(std::string_view text) {
  // Paddle writes Place(gpu:0) and, in older programs, CPUPlace.
  if (text.starts_with("Place(") && text.ends_with(")")) {
    text = text.substr(6, text.size() - 7);
  }
  return ParsePlace(text);
}

std::unique_ptr<PyCUDAPlace> CudaPlace(int index) {
  PROA_REQUIRE(index >= 0 && index < 32768, "CUDAPlace: the index is ", index,
               "; it is at least 0");
  const Place place{DeviceKind::kGPU, static_cast<int16_t>(index)};
  return std::make_unique<PyCUDAPlace>(PyCUDAPlace{{place}});
}

std::unique_ptr<PyCustomPlace> CustomPlace(const std::string& type, int index) {
  PROA_REQUIRE(index >= 0 && index < 32768, "CustomPlace: the index is ", index,
               "; it is at least 0");
  const Place place = ParsePlace(type + ":" + std::to_string(index));
  PROA_REQUIRE(place.kind >= DeviceKind::kFirstCustom, "CustomPlace: ", type,
               " is no device of a plugin");
  return std::make_unique<PyCustomPlace>(PyCustomPlace{{place}});
}

// The class of a device that plugins may bring, but that has no name here.
template <typename T>
void BindAbsent(py::module_& m, const char* name) {
  const std::string text =
      std::string(
          "The place of a device that this package does not drive; "
          "CustomPlace names those of plugins. No place is a ") +
      name + ".\n\nExamples:\n    >>> proa." + name + R"((0)
    Traceback (most recent call last):
        ...
    NotImplementedError: ...there is no such device; use CPUPlace()...
)";
  py::class_<T, PyPlace>(m, name, text.c_str())
      .def("__init__",
           Constructor<int>([name =
                                 std::string(name)](int) -> std::unique_ptr<T> {
             Fail(absl::StatusCode::kUnimplemented, name,
                  ": there is no such device; use CPUPlace(), CUDAPlace(id), "
                  "or CustomPlace(type, id) for one that a plugin brings");
           }),
           kIsConstructor, py::arg("id") = 0);
}

}  // namespace

PyObject* WrapPlace(Place place) {
  switch (place.kind) {
    case DeviceKind::kCPU:
      return py::cast(PyCPUPlace{{place}}).release().ptr();
    case DeviceKind::kGPU:
      return py::cast(PyCUDAPlace{{place}}).release().ptr();
    default:
      return py::cast(PyCustomPlace{{place}}).release().ptr();
  }
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
      .def("__init__",
           Constructor<const std::string&>([](const std::string& s) {
             return std::make_unique<PyPlace>(PyPlace{Parse(s)});
           }),
           kIsConstructor, py::arg("name") = "cpu")
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
      .def("_equals", [](const PyPlace& p,
                         const PyPlace& o) { return p.place == o.place; })
      .def("is_xpu_place", [](const PyPlace&) { return false; })
      .def("is_npu_place", [](const PyPlace&) { return false; })
      .def("__hash__",
           [](const PyPlace& p) {
             return static_cast<int>(p.place.kind) * 65536 + p.place.index;
           })
      // Copies have the class of the original.
      .def("__reduce__", [](const py::object& self) {
        py::tuple arguments = py::make_tuple(self.attr("name"));
        if (py::isinstance<PyCustomPlace>(self)) {
          arguments = py::make_tuple(self.attr("kind"), self.attr("index"));
        } else if (py::isinstance<PyCUDAPlace>(self)) {
          arguments = py::make_tuple(self.attr("index"));
        } else if (py::isinstance<PyCPUPlace>(self) ||
                   py::isinstance<PyCUDAPinnedPlace>(self)) {
          arguments = py::make_tuple();
        }
        return py::make_tuple(py::type::of(self), arguments);
      });
  py::class_<PyCPUPlace, PyPlace>(m, "CPUPlace", R"(The place of host memory.

Examples:
    >>> x = proa.to_tensor([1.0], place=proa.CPUPlace())
    >>> x.place, isinstance(x.place, proa.CPUPlace)
    (Place(cpu), True)
)")
      .def("__init__",
           Constructor<>([] { return std::make_unique<PyCPUPlace>(); }),
           kIsConstructor);
  py::class_<PyCUDAPlace, PyPlace>(m, "CUDAPlace", R"(The place of GPU `id`.

Examples:
    >>> proa.CUDAPlace(1), proa.CUDAPlace(1) == proa.CUDAPlace(0)
    (Place(gpu:1), False)
)")
      .def("__init__", Constructor<int>(&CudaPlace), kIsConstructor,
           py::arg("id") = 0);
  py::class_<PyCUDAPinnedPlace, PyPlace>(
      m, "CUDAPinnedPlace", R"(Host memory; pinning is left to the allocator.

Examples:
    >>> proa.ones([2]).cpu().place == proa.CPUPlace(), isinstance(proa.CUDAPinnedPlace(), proa.CUDAPinnedPlace)
    (True, True)
)")
      .def("__init__",
           Constructor<>([] { return std::make_unique<PyCUDAPinnedPlace>(); }),
           kIsConstructor);
  py::class_<PyCustomPlace, PyPlace>(
      m, "CustomPlace", R"(The place of device `id` of a plugin's type.

Examples:
    >>> proa.CustomPlace("no_such_device", 0)
    Traceback (most recent call last):
        ...
    ValueError: ...no_such_device...
)")
      .def("__init__", Constructor<const std::string&, int>(&CustomPlace),
           kIsConstructor, py::arg("type"), py::arg("id") = 0);
  BindAbsent<PyXPUPlace>(m, "XPUPlace");
  BindAbsent<PyNPUPlace>(m, "NPUPlace");
}

}  // namespace proa::inline v0::python
