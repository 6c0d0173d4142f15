// What programs print goes where `print` of Python goes, `sys.stdout`.
#include <Python.h>

#include <string_view>

#include "ops/report/report.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/module.h"

namespace proa::inline v0::python {
namespace {

void WriteToPython(std::string_view text) {
  const GilAcquire gil;
  PyObject* out = PySys_GetObject("stdout");  // borrowed
  if (out == nullptr || out == Py_None) return;
  const Ref held = Ref::New(Py_NewRef(out));
  const Ref written = Ref::New(PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  Ref::New(PyObject_CallMethod(held.get(), "write", "O", written.get()));
}

const ModulePart part([](pybind11::module_&) {
  SetReportSink(&WriteToPython);
});

}  // namespace
}  // namespace proa::inline v0::python
