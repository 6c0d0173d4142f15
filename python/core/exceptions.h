// The Python exceptions of the package: each is of every kind that programs
// catch it as. An axis out of range is an IndexError to Python programmers and
// a ValueError to programs of the reference, so it is both, as NumPy's
// AxisError is; its text opens with the reference's word for it,
// "(OutOfRange)".
//
// `proa.errors` shows the classes. They cost nothing until something is raised.
#ifndef PROA_PYTHON_CORE_EXCEPTIONS_H_
#define PROA_PYTHON_CORE_EXCEPTIONS_H_

#include <Python.h>

#include <string>

#include "tensor/error.h"

namespace proa::inline v0::python {

// Makes the classes, as names of the module.
void MakeExceptions(PyObject* module);

struct ExceptionKind {
  PyObject* type;
  const char* word;  // "(OutOfRange) "; "" for what the reference has no word
};

// What an error of the core becomes.
ExceptionKind KindOf(const Error& error);
// What stands for a builtin exception: TypeError is both TypeError and
// ValueError. Other classes stand for themselves, without a word.
ExceptionKind KindOf(PyObject* builtin);

// The word and the message, unless the message already opens with a word.
std::string WithWord(const char* word, const std::string& message);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_EXCEPTIONS_H_
