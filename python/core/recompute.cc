// Recomputation for Python; proa.autograd.recompute gives it arguments of any
// kind.
#include "autograd/recompute.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "python/core/casters.h"
#include "python/core/gil.h"
#include "python/core/module.h"
#include "python/core/pybind.h"
#include "python/core/tensor_hooks.h"
#include "python/core/tensor_object.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using Tensors = std::vector<Tensor>;

Tensors Recompute(const py::function& function, const Tensors& inputs) {
  auto owned = std::make_shared<OwnedFunction>(function.ptr());
  return autograd::Recompute(
      [owned](std::span<const Tensor> in) {
        const GilAcquire gil;
        const py::object list = py::reinterpret_steal<py::object>(
            Wrap(Tensors(in.begin(), in.end())));
        const py::object result =
            py::reinterpret_steal<py::object>(CallingPython(
                [&] { return PyObject_CallOneArg(owned->get(), list.ptr()); }));
        if (!result) throw py::error_already_set();
        return result.cast<Tensors>();
      },
      inputs);
}

const ModulePart part([](py::module_& m) {
  m.def("recompute", &Recompute, py::arg("function"), py::arg("inputs"),
        "Tensors that function(inputs) gives; it is called again in backward.");
});

}  // namespace
}  // namespace proa::inline v0::python
