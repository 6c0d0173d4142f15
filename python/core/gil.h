// When to let other Python threads run during an op: only when the op is worth
// more than handing the lock over and taking it back (a few microseconds if
// contended).
#ifndef PROA_PYTHON_CORE_GIL_H_
#define PROA_PYTHON_CORE_GIL_H_

#include <Python.h>

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
      PyEval_RestoreThread(thread_);
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
  GilAcquire() : state_(PyGILState_Ensure()) {}
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;
  ~GilAcquire() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_GIL_H_
