// Errors at the edge to Python: which Python exception a C++ one becomes, and
// how C++ code gives up when a call of the Python API failed.
//
//   PyObject* Repr(PyObject* self) {
//     return Guarded([&] { return Text(Unwrap(self)); });
//   }
#ifndef PROA_PYTHON_CORE_ERROR_H_
#define PROA_PYTHON_CORE_ERROR_H_

#include <Python.h>

#include <atomic>
#include <string>
#include <utility>

namespace proa::inline v0::python {

// Thrown when the Python error indicator is set; the edge then leaves it as it
// is.
struct PythonError {};

// Null from the Python API means that its error indicator is set.
template <typename T>
T* Check(T* result) {
  if (result == nullptr) [[unlikely]]
    throw PythonError();
  return result;
}
inline void CheckStatus(int status) {
  if (status < 0) [[unlikely]]
    throw PythonError();
}

// Sets the error indicator and throws PythonError. The exception is what stands
// for `type` (python/core/exceptions.h).
[[noreturn]] void ThrowPython(PyObject* type, const std::string& message);
// A call that does not fit the signature: Python's own TypeError.
[[noreturn]] void ThrowCallError(const std::string& message);

// Within a catch block: sets the Python exception that belongs to the current
// C++ one (python/core/exceptions.h has the mapping).
void SetPythonError() noexcept;

// What stands for the exception (python/core/exceptions.h; a new reference),
// with the note on the user's line that those of the core have: for errors that
// the package's Python code raises, `raise _C.located(ValueError(...))`.
PyObject* Located(PyObject* exception);

// What is added to exceptions that the core throws (FLAGS_call_stack_level),
// below their text: 0 nothing; 1 the user's line, and the layer that runs,
// unless the traceback ends there anyway; 2 the C++ frames too.
void SetCallStackLevel(int level);
int GetCallStackLevel();

// Runs `body`, which returns a new reference or throws. Costs nothing without
// error.
template <typename F>
inline PyObject* Guarded(F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    SetPythonError();
    return nullptr;
  }
}

// The same for slots that return a status: -1 on error.
template <typename F>
inline auto GuardedStatus(F&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    SetPythonError();
    return -1;
  }
}

// A thread that Python ends (gil.h) is unwound without the lock: whatever would
// give something back to Python then sleeps instead, for ever. In destructors,
// before they do so.
namespace internal {
extern constinit std::atomic<bool> python_ends;
void SleepUnlessLocked() noexcept;
}  // namespace internal
inline void BeforeGivingBack() noexcept {
  if (internal::python_ends.load(std::memory_order_relaxed)) [[unlikely]]
    internal::SleepUnlessLocked();
}

// As Py_XDECREF.
inline void GiveBack(PyObject* o) noexcept {
  if (o == nullptr) return;
  BeforeGivingBack();
  Py_DECREF(o);
}

// An owned reference.
class Ref {
 public:
  Ref() = default;
  // Takes over a new reference; null throws PythonError.
  static Ref New(PyObject* o) { return Ref(Check(o)); }
  static Ref NewOrNull(PyObject* o) { return Ref(o); }
  static Ref Borrow(PyObject* o) {
    Py_XINCREF(o);
    return Ref(o);
  }
  Ref(Ref&& o) noexcept : o_(std::exchange(o.o_, nullptr)) {}
  Ref(const Ref& o) : o_(o.o_) { Py_XINCREF(o_); }
  Ref& operator=(Ref o) noexcept {
    std::swap(o_, o.o_);
    return *this;
  }
  ~Ref() { GiveBack(o_); }

  PyObject* get() const { return o_; }
  PyObject* release() { return std::exchange(o_, nullptr); }
  explicit operator bool() const { return o_ != nullptr; }

 private:
  explicit Ref(PyObject* o) : o_(o) {}
  PyObject* o_ = nullptr;
};

// Text of str(o), for messages; never fails.
std::string TextOf(PyObject* o);
// "int", "numpy.ndarray": the type of o, for messages.
std::string TypeName(PyObject* o);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_ERROR_H_
