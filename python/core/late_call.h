// Calls of ops with a number that only the run of a program knows: a tensor of
// the program, or a size that is open.
//
//   paddle.topk(x, k)   # k: a symbolic tensor; recorded as topk(%x, k=%k, ...)
#ifndef PROA_PYTHON_CORE_LATE_CALL_H_
#define PROA_PYTHON_CORE_LATE_CALL_H_

#include <Python.h>

#include "python/core/arguments.h"
#include "tensor/error.h"

namespace proa::inline v0::python {

// What converting an argument throws if its value is not known yet. As an error
// it says so, where nobody makes a late call of it.
class LateAttribute final : public Error {
 public:
  using Error::Error;
};

// The call `s` of the arguments `a`, recorded with its late attributes. To be
// called while a LateAttribute is caught, which is thrown on if it cannot be.
PyObject* CallLate(const Signature& s, PyObject* const* a);

// `call` converts the arguments `a` and calls the op.
template <typename F>
inline PyObject* OrLate(const Signature& s, PyObject* const* a, F&& call) {
  try {
    return call();
  } catch (const LateAttribute&) {
    return CallLate(s, a);
  }
}

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_LATE_CALL_H_
