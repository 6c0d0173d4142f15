#include "python/core/exceptions.h"

#include <initializer_list>

#include "absl/status/status.h"
#include "python/core/error.h"

namespace proa::inline v0::python {
namespace {

PyObject* argument_type_error = nullptr;
PyObject* dtype_error = nullptr;
PyObject* index_range_error = nullptr;
PyObject* not_found_error = nullptr;

// Pickled by module and name, so the module is the one that users see.
PyObject* NewClass(PyObject* module, const char* name, const char* doc,
                   std::initializer_list<PyObject*> bases) {
  const Ref tuple =
      Ref::New(PyTuple_New(static_cast<Py_ssize_t>(bases.size())));
  Py_ssize_t i = 0;
  for (PyObject* base : bases)
    PyTuple_SET_ITEM(tuple.get(), i++, Py_NewRef(base));
  const std::string full = std::string("proa.errors.") + name;
  PyObject* type =
      Check(PyErr_NewExceptionWithDoc(full.c_str(), doc, tuple.get(), nullptr));
  CheckStatus(PyModule_AddObjectRef(module, name, type));
  return type;
}

}  // namespace

void MakeExceptions(PyObject* module) {
  argument_type_error = NewClass(
      module, "ArgumentTypeError",
      "An argument is of the wrong Python type: a list where a Tensor belongs.",
      {PyExc_TypeError, PyExc_ValueError});
  dtype_error =
      NewClass(module, "DTypeError",
               "A function does not take tensors of this dtype or kind.",
               {PyExc_TypeError, PyExc_ValueError, PyExc_RuntimeError});
  index_range_error = NewClass(module, "IndexRangeError",
                               "An axis or an index is out of range.",
                               {PyExc_IndexError, PyExc_ValueError});
  not_found_error =
      NewClass(module, "NotFoundError", "A file is not there.",
               {PyExc_FileNotFoundError, PyExc_RuntimeError, PyExc_ValueError});
}

ExceptionKind KindOf(const Error& error) {
  if (dynamic_cast<const TypeError*>(&error) != nullptr)
    return {dtype_error, "(InvalidArgument) "};
  switch (error.code()) {
    case absl::StatusCode::kInvalidArgument:
      return {PyExc_ValueError, "(InvalidArgument) "};
    case absl::StatusCode::kOutOfRange:
      return {index_range_error, "(OutOfRange) "};
    case absl::StatusCode::kUnimplemented:
      return {PyExc_NotImplementedError, "(Unimplemented) "};
    case absl::StatusCode::kResourceExhausted:
      return {PyExc_MemoryError, "(ResourceExhausted) "};
    case absl::StatusCode::kNotFound:
      return {not_found_error, "(NotFound) "};
    case absl::StatusCode::kPermissionDenied:
      return {PyExc_PermissionError, "(PermissionDenied) "};
    case absl::StatusCode::kFailedPrecondition:
      return {PyExc_RuntimeError, "(PreconditionNotMet) "};
    case absl::StatusCode::kAborted:  // what a program asserts
      return {PyExc_AssertionError, ""};
    case absl::StatusCode::kUnavailable:
      return {PyExc_RuntimeError, "(Unavailable) "};
    default:
      return {PyExc_RuntimeError, ""};
  }
}

ExceptionKind KindOf(PyObject* builtin) {
  if (builtin == PyExc_TypeError)
    return {argument_type_error, "(InvalidArgument) "};
  if (builtin == PyExc_ValueError) return {builtin, "(InvalidArgument) "};
  if (builtin == PyExc_IndexError) return {index_range_error, "(OutOfRange) "};
  if (builtin == PyExc_NotImplementedError)
    return {builtin, "(Unimplemented) "};
  if (builtin == PyExc_FileNotFoundError)
    return {not_found_error, "(NotFound) "};
  if (builtin == PyExc_RuntimeError) return {builtin, "(PreconditionNotMet) "};
  return {builtin, ""};
}

std::string WithWord(const char* word, const std::string& message) {
  const bool has_one = message.size() > 2 && message[0] == '(' &&
                       message[1] >= 'A' && message[1] <= 'Z' &&
                       message.find(") ") != std::string::npos;
  return has_one ? message : word + message;
}

}  // namespace proa::inline v0::python
