// When to let other Python threads run during an op: only when the op is worth
// more than handing the lock over and taking it back (a few microseconds if
// contended).
//
// Python ends the daemon threads that want the lock while the interpreter ends,
// by unwinding their stacks (pthread_exit). Ours have frames of C++, which
// cannot be left so: such a thread sleeps until the process is gone, at the
// first destructor that would give something back to Python (BeforeGivingBack
// in error.h), or where the exception is caught.
#ifndef PROA_PYTHON_CORE_GIL_H_
#define PROA_PYTHON_CORE_GIL_H_

#include <Python.h>
#include <cxxabi.h>

#include <cstdint>
#include <span>

#include "ops/int_array.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

// Elements of tensors from which a call counts as work. An elementwise op takes
// about 10 us for so many.
inline constexpr int64_t kWorthReleasing = 32768;

inline int64_t Elements(const Tensor& t) { return t.defined() ? t.numel() : 0; }
inline int64_t Elements(std::span<const Tensor> ts) {
  int64_t n = 0;
  for (const Tensor& t : ts) n += Elements(t);
  return n;
}
// Of a tensor to be made; sizes may be anything, so this only estimates.
inline int64_t Elements(const IntArray& shape) {
  int64_t n = 1;
  for (const int64_t d : shape.values()) {
    if (d > kWorthReleasing) return kWorthReleasing;
    n *= d > 0 ? d : 1;
    if (n >= kWorthReleasing) break;
  }
  return n;
}

// Once, when the module is made: learns when Python ends.
void BindEndOfPython();

// What a thread does that Python wants to end while C++ runs on it.
[[noreturn]] void SleepForever() noexcept;

namespace internal {
// As PyEval_RestoreThread, PyGILState_Ensure and PyGILState_Release.
void TakeGil(PyThreadState* thread) noexcept;
PyGILState_STATE EnsureGil() noexcept;
void ReleaseGil(PyGILState_STATE state) noexcept;
}  // namespace internal

// `call()`, which runs Python code, where C++ stands between it and the code
// of Python that called us: a thread that is ended inside of it sleeps at once,
// and no destructor touches Python objects without the lock.
template <typename F>
auto CallingPython(F&& call) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    SleepForever();
  }
}

// Releases the global lock in a scope, if there is work.
class GilRelease {
 public:
  explicit GilRelease(int64_t work) {
    if (work >= kWorthReleasing) [[unlikely]]
      thread_ = PyEval_SaveThread();
  }
  GilRelease() : thread_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    if (thread_ != nullptr) [[unlikely]]
      internal::TakeGil(thread_);
  }

 private:
  PyThreadState* thread_ = nullptr;
};

// Runs `body` without the lock if there is work.
template <typename F>
inline auto WithoutGil(int64_t work, F&& body) {
  const GilRelease release(work);
  return body();
}

// Holds the global lock in a scope; any thread, any number of times.
class GilAcquire {
 public:
  GilAcquire() : state_(internal::EnsureGil()) {}
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;
  ~GilAcquire() { internal::ReleaseGil(state_); }

 private:
  PyGILState_STATE state_;
};

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_GIL_H_
