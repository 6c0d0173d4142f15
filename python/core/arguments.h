// Signature: the parameters of a bound function; Bind: the arguments of a call
// put into the order of the parameters, with CPython's messages when they do
// not fit. No tuple or dict is made, and keywords are matched by pointer first.
//
//   Signature sum{"sum", names, 4, 1};
//   PyObject* a[4];
//   Bind(sum, self, args, nargs, kwnames, a);  // a[i]: null if not given
#ifndef PROA_PYTHON_CORE_ARGUMENTS_H_
#define PROA_PYTHON_CORE_ARGUMENTS_H_

#include <Python.h>

#include <cstdint>

namespace proa::inline v0::python {

// As CPython calls METH_FASTCALL | METH_KEYWORDS.
using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* args,
                                   Py_ssize_t nargs, PyObject* kwnames);

class Signature {
 public:
  static constexpr int kMaxParams = 32;

  // `promotes`: bit i says that a number may stand for tensor parameter i.
  // `also`, if not null: a second name for each parameter, by keyword.
  constexpr Signature(const char* op, const char* const* names, int num_params,
                      int num_required, uint32_t promotes = 0,
                      const char* const* also = nullptr)
      : op(op),
        names(names),
        num_params(num_params),
        num_required(num_required),
        promotes(promotes),
        also(also) {}

  // Makes the names interned strings; once, before the first call.
  void Intern();
  // The parameter of that name; -1: none; num_params: the `name=` that each
  // function takes and ignores, as Paddle's do.
  int Find(PyObject* keyword) const;

  const char* op;
  const char* const* names;
  int num_params;
  int num_required;
  uint32_t promotes;
  const char* const* also;

 private:
  PyObject* interned_[kMaxParams] = {};
};

// Any call but a plain positional one.
void BindSlow(const Signature& s, PyObject* self, PyObject* const* args,
              Py_ssize_t nargs, PyObject* kwnames, PyObject** out);

// `self`, if not null, is the first argument. Throws PythonError.
template <int kParams>
inline void Bind(const Signature& s, PyObject* self, PyObject* const* args,
                 Py_ssize_t nargs, PyObject* kwnames,
                 PyObject* (&out)[kParams]) {
  const Py_ssize_t first = self != nullptr ? 1 : 0;
  const Py_ssize_t given = first + nargs;
  if (kwnames != nullptr || given > s.num_params || given < s.num_required)
      [[unlikely]] {
    return BindSlow(s, self, args, nargs, kwnames, out);
  }
  if (first != 0) out[0] = self;
  for (Py_ssize_t i = first; i < given; ++i) out[i] = args[i - first];
  for (Py_ssize_t i = given; i < kParams; ++i) out[i] = nullptr;
}

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_ARGUMENTS_H_
