// Python functions that are hooked into the graph, and how the garbage
// collector sees them: a hook often refers to the tensor that it hangs on.
//
// A node owns its hooks (node_reference.h). What Python gets for one
// (HookHandle) does not own it, so that a hook may refer to its own handle. A
// Tensor shows the collector the hooks of the node at which its gradient
// arrives, and a grad_fn object does so likewise. All functions need the global
// lock.
#ifndef PROA_PYTHON_CORE_TENSOR_HOOKS_H_
#define PROA_PYTHON_CORE_TENSOR_HOOKS_H_

#include <Python.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "autograd/node.h"
#include "python/core/gil.h"
#include "python/core/node_reference.h"
#include "python/core/pybind.h"

namespace proa::inline v0::python {

// A Python object that C++ owns; may be dropped on any thread.
class OwnedObject {
 public:
  explicit OwnedObject(PyObject* o) : o_(o) { Py_INCREF(o); }
  OwnedObject(const OwnedObject&) = delete;
  OwnedObject& operator=(const OwnedObject&) = delete;
  ~OwnedObject() {
    if (o_ == nullptr || !Py_IsInitialized())
      return;  // the interpreter has taken it along
    const GilAcquire gil;
    Py_DECREF(o_);
  }
  PyObject* get() const { return o_; }
  // Drops it before its time.
  void Reset() { Py_CLEAR(o_); }

 private:
  PyObject* o_;
};
using OwnedFunction = OwnedObject;

// A hook that was registered from Python. After remove() it has no function,
// and is taken off the node when the next one is registered.
struct HookRegistration {
  HookRegistration(const autograd::Node& node, PyObject* f)
      : function(node, f) {}
  NodeReference function;
  int64_t id = 0;
};

// What std::function holds for such a hook, so that the collector finds it.
template <typename Call>
struct PythonHook {
  std::shared_ptr<HookRegistration> registration;
  Call call;
  template <typename... Args>
  auto operator()(Args&&... args) const {
    return call(*registration, std::forward<Args>(args)...);
  }
};

// Registers `hook` (a Python function) on `node`. The errors name `op`.
// Of the gradient of output `slot`: hook(grad) -> Tensor or None.
pybind11::object AddPythonHook(const char* op, autograd::Node& node,
                               uint32_t slot, PyObject* hook);
// Before the node's formula: hook(grads) -> tuple or None.
pybind11::object AddPythonPreHook(const char* op, autograd::Node& node,
                                  PyObject* hook);
// After it: hook(input_grads, grads) -> tuple or None.
pybind11::object AddPythonPostHook(const char* op, autograd::Node& node,
                                   PyObject* hook);
// After a leaf has accumulated: hook(tensor), or hook() without `with_tensor`.
pybind11::object AddPythonLeafHook(const char* op, autograd::Node& node,
                                   PyObject* tensor, bool with_tensor,
                                   PyObject* hook);

// Calls `visit` with each Python function hooked on `node`; stops at nonzero.
int TraverseHooks(const autograd::Node& node, visitproc visit, void* arg);
// Empties the Python hooks of `node` if the caller is its only owner, for the
// collector. Else what the hooks refer to is cleared, which does it as well.
void ClearHooks(const autograd::Node& node);

void BindHooks(pybind11::module_& m);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_TENSOR_HOOKS_H_
