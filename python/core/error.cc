#include "python/core/error.h"

#include <new>

#include "pybind11/pybind11.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

PyObject* TypeOf(const Error& error) {
  if (dynamic_cast<const TypeError*>(&error) != nullptr) return PyExc_TypeError;
  switch (error.code()) {
    case absl::StatusCode::kInvalidArgument:
      return PyExc_ValueError;
    case absl::StatusCode::kOutOfRange:
      return PyExc_IndexError;
    case absl::StatusCode::kUnimplemented:
      return PyExc_NotImplementedError;
    case absl::StatusCode::kResourceExhausted:
      return PyExc_MemoryError;
    case absl::StatusCode::kNotFound:
      return PyExc_KeyError;
    default:
      return PyExc_RuntimeError;
  }
}

}  // namespace

void ThrowPython(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

void SetPythonError() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_SystemError,
                      "an error was reported but not described");
    }
  } catch (pybind11::error_already_set& e) {
    e.restore();
  } catch (const pybind11::builtin_exception& e) {
    e.set_error();
  } catch (const Error& e) {
    PyErr_SetString(TypeOf(e), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of host memory");
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

std::string TextOf(PyObject* o) {
  const Ref text = Ref::NewOrNull(PyObject_Str(o));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return utf8;
}

std::string TypeName(PyObject* o) {
  if (o == Py_None) return "None";
  return Py_TYPE(o)->tp_name;
}

}  // namespace proa::inline v0::python
