#include "python/core/saved_tensors.h"

#include <Python.h>

#include <memory>
#include <string>

#include "autograd/recomputing_node.h"
#include "autograd/saved_tensor_hooks.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/tensor_hooks.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using Function = std::shared_ptr<OwnedFunction>;

Function Callable(const char* what, const py::object& o) {
  if (!PyCallable_Check(o.ptr())) {
    ThrowTypeError(absl::StrCat("saved_tensors_hooks: ", what,
                                " must be callable, not ", TypeName(o.ptr())));
  }
  return std::make_shared<OwnedFunction>(o.ptr());
}

py::object Call(const Function& f, const py::object& argument) {
  PyObject* result = CallingPython(
      [&] { return PyObject_CallOneArg(f->get(), argument.ptr()); });
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

void Push(const py::object& pack_function, const py::object& unpack_function) {
  const Function pack = Callable("pack", pack_function);
  const Function unpack = Callable("unpack", unpack_function);
  autograd::PushSavedTensorHooks(
      {.pack = [pack](const Tensor& t) -> std::shared_ptr<void> {
         const GilAcquire gil;
         const py::object kept =
             Call(pack, py::reinterpret_steal<py::object>(Wrap(t)));
         return std::make_shared<OwnedObject>(kept.ptr());
       },
       .unpack =
           [unpack](const std::shared_ptr<void>& kept) {
             const GilAcquire gil;
             PyObject* o = static_cast<const OwnedObject*>(kept.get())->get();
             const py::object t =
                 Call(unpack, py::reinterpret_borrow<py::object>(o));
             if (!IsTensor(t.ptr())) {
               ThrowTypeError(
                   "saved_tensors_hooks: unpack must return a Tensor, not " +
                   TypeName(t.ptr()));
             }
             return Unwrap(t.ptr());
           }});
}

}  // namespace

void BindSavedTensors(py::module_& m) {
  m.def("push_saved_tensors_hooks", &Push, py::arg("pack"), py::arg("unpack"),
        "From now on, pack(tensor) is kept for backward on this thread, and "
        "unpack(kept) "
        "asked for the tensor.");
  m.def("recompute_outputs", &autograd::RecomputeOutputs,
        "What set_recompute_outputs was given last.");
  m.def("set_recompute_outputs", &autograd::SetRecomputeOutputs, py::arg("on"),
        "Whether backward makes cheap outputs (of normalization) again instead "
        "of keeping them.");
  m.def("pop_saved_tensors_hooks", &autograd::PopSavedTensorHooks,
        "Ends the innermost push_saved_tensors_hooks of this thread.");
}

}  // namespace proa::inline v0::python
