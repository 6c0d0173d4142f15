#include "python/core/file_status.h"

#include <Python.h>

#include <cerrno>

#include "profiler/system_error.h"
#include "python/core/error.h"
#include "python/core/exceptions.h"
#include "tensor/error.h"

namespace proa::inline v0::python {

void CheckFileStatus(const absl::Status& status) {
  if (status.ok()) return;
  if (const auto failure = profiler::SystemFailureOf(status)) {
    const Ref path = Ref::New(PyUnicode_DecodeFSDefaultAndSize(
        failure->path.data(), static_cast<Py_ssize_t>(failure->path.size())));
    // A file that is not there is what the reference raises for it, too.
    PyObject* const type = failure->number == ENOENT
                               ? KindOf(PyExc_FileNotFoundError).type
                               : PyExc_OSError;
    const Ref error = Ref::New(PyObject_CallFunction(
        type, "isO", failure->number, failure->what.c_str(), path.get()));
    const Ref located = Ref::New(Located(error.get()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(located.get())),
                    located.get());
    throw PythonError();
  }
  if (status.code() == absl::StatusCode::kDataLoss) {
    ThrowPython(PyExc_ValueError, std::string(status.message()));
  }
  ThrowIfError(status);
}

void CheckPath(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    ThrowPython(PyExc_ValueError, "a path holds a null character");
  }
}

}  // namespace proa::inline v0::python
