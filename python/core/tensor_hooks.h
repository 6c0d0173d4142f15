// Python functions that are hooked on a tensor's gradient, and how the garbage
// collector sees them: a hook often refers to the tensor that it hangs on.
#ifndef PROA_PYTHON_CORE_TENSOR_HOOKS_H_
#define PROA_PYTHON_CORE_TENSOR_HOOKS_H_

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "python/core/gil.h"

namespace proa::inline v0::python {

// A Python function that C++ owns; may be dropped on any thread.
class OwnedFunction {
 public:
  explicit OwnedFunction(PyObject* f) : f_(f) { Py_INCREF(f); }
  OwnedFunction(const OwnedFunction&) = delete;
  OwnedFunction& operator=(const OwnedFunction&) = delete;
  ~OwnedFunction() {
    if (!Py_IsInitialized()) return;  // the interpreter has taken it along
    const GilAcquire gil;
    Py_DECREF(f_);
  }
  PyObject* get() const { return f_; }

 private:
  PyObject* f_;
};

struct TensorHooks {
  struct Entry {
    int64_t id;
    // The tensor's grad state is the owner.
    std::weak_ptr<OwnedFunction> function;
  };
  std::vector<Entry> entries;
};

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_HOOKS_H_
