#include "python/core/gil.h"

#include <cxxabi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python/core/error.h"
#include "python/core/pybind.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::python {

void SleepForever() noexcept {
  while (true) pause();
}

namespace {

bool IsMainThread() { return syscall(SYS_gettid) == getpid(); }

// Runs Python's handlers of signals that came in: an exception of one ends
// what this thread does. Python runs them on its main thread only.
const bool installed = [] {
  InstallInterruptCheck([] {
    if (!Py_IsInitialized()) return;
    const GilAcquire gil;
    if (PyErr_CheckSignals() < 0) throw pybind11::error_already_set();
  });
  return true;
}();

// Runs before Python takes the lock from other threads for good.
PyObject* NoteEnd(PyObject*, PyObject*) {
  internal::python_ends = true;
  Py_RETURN_NONE;
}
PyMethodDef note_end = {"note_end", &NoteEnd, METH_NOARGS, nullptr};

}  // namespace

constinit std::atomic<bool> internal::python_ends{false};

void internal::SleepUnlessLocked() noexcept {
  if (!PyGILState_Check() && !IsMainThread()) SleepForever();
}

void BindEndOfPython() {
  const Ref function = Ref::New(PyCFunction_New(&note_end, nullptr));
  const Ref atexit = Ref::New(PyImport_ImportModule("atexit"));
  Ref::New(PyObject_CallMethod(atexit.get(), "register", "O", function.get()));
}

// Catching the unwinding that ends a thread is allowed as long as the handler
// is never left.

void internal::TakeGil(PyThreadState* thread) noexcept {
  try {
    PyEval_RestoreThread(thread);
  } catch (...) {
    SleepForever();
  }
}

PyGILState_STATE internal::EnsureGil() noexcept {
  // Python is gone for good: nothing that needs it can go on.
  if (!Py_IsInitialized() && !IsMainThread()) SleepForever();
  try {
    return PyGILState_Ensure();
  } catch (...) {
    SleepForever();
  }
}

void internal::ReleaseGil(PyGILState_STATE state) noexcept {
  // Not held: this thread is being ended, below.
  if (!PyGILState_Check()) SleepForever();
  PyGILState_Release(state);
}

}  // namespace proa::inline v0::python
