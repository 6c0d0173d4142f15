// The extension module proa._C: brings the parts together, in an order that
// their types need.
#include "python/core/module.h"
#include "python/core/amp.h"
#include "python/core/anomaly.h"
#include "python/core/autograd_functions.h"
#include "python/core/bindings.h"
#include "python/core/call_stack.h"
#include "python/core/casters.h"
#include "python/core/debug.h"
#include "python/core/device.h"
#include "python/core/dtype_object.h"
#include "python/core/error.h"
#include "python/core/exceptions.h"
#include "python/core/gil.h"
#include "python/core/grad_node.h"
#include "python/core/graph_reports.h"
#include "python/core/node_reference.h"
#include "python/core/op_registry.h"
#include "python/core/place_object.h"
#include "python/core/py_layer.h"
#include "python/core/saved_tensors.h"
#include "python/core/streams.h"
#include "python/core/tensor_dlpack.h"
#include "python/core/tensor_hooks.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_pickle.h"
#include "python/core/to_tensor.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

std::vector<ModulePart::Bind>& Parts() {
  static auto* parts = new std::vector<ModulePart::Bind>;
  return *parts;
}

// For functions that pybind11 binds; the others use Guarded.
void Translate(std::exception_ptr p) {
  try {
    std::rethrow_exception(p);
  } catch (const PythonError&) {
    SetPythonError();
  } catch (const Error&) {
    SetPythonError();
  }
}

PyObject* Rebuild(PyObject*, PyObject* args) {
  return Guarded([&] { return RebuildTensor(args); });
}

PyMethodDef functions[] = {
    {"rebuild_tensor", &Rebuild, METH_VARARGS, "What a pickled Tensor calls."},
    {nullptr, nullptr, 0, nullptr}};

void Fill(py::module_& m) {
  BindEndOfPython();
  MakeExceptions(m.ptr());
  py::register_exception_translator(&Translate);
  PrepareBindings();
  MakeDTypeType(m.ptr());
  BindPlaces(m);
  MakeTensorType(m.ptr());
  AddOpFunctions(m.ptr());
  CheckStatus(PyModule_AddFunctions(m.ptr(), functions));
  BindToTensor(m.ptr());
  BindAutograd(m);
  BindNodeReferences();
  BindPyLayer(m.ptr());
  BindHooks(m);
  MakeGradNodeType(m.ptr());
  BindGraphReports(m);
  BindSavedTensors(m);
  BindAmp(m);
  BindAnomalyMode(m);
  BindCallStack(m);
  BindDebug(m);
  BindDevice(m);
  BindStreams(m);
  BindOpRegistry(m);
  m.def(
      "from_dlpack",
      [](const py::object& o) { return TensorFromDLPack(o.ptr()); },
      py::arg("dlpack"),
      "A Tensor over the memory of an object with __dlpack__, or of a "
      "capsule.");
  m.def(
      "to_dlpack",
      [](const Tensor& t) {
        return py::reinterpret_steal<py::object>(MakeDLPackCapsule(t));
      },
      py::arg("x"), "A DLPack capsule over the memory of a Tensor.");
  for (const ModulePart::Bind bind : Parts()) bind(m);
}

}  // namespace

ModulePart::ModulePart(Bind bind) { Parts().push_back(bind); }

}  // namespace proa::inline v0::python

PYBIND11_MODULE(_C, m) {
  try {
    proa::python::Fill(m);
  } catch (const proa::python::PythonError&) {
    throw pybind11::error_already_set();
  }
}
