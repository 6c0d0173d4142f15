#include "python/core/tensor_hooks.h"

#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "python/core/casters.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using autograd::Node;

struct HookHandle {
  std::weak_ptr<HookRegistration> registration;
  bool Remove() {
    const std::shared_ptr<HookRegistration> r = registration.lock();
    if (r == nullptr || r->function.get() == nullptr) return false;
    r->function.Reset();
    return true;
  }
};

// The hooks as they are registered: what Python returned, or None if the hook
// has been removed. The function lives while it runs, also if it removes
// itself.
template <typename... Args>
py::object Call(const HookRegistration& r, const Args&... args) {
  if (r.function.get() == nullptr) return py::none();
  const auto function = py::reinterpret_borrow<py::object>(r.function.get());
  const py::tuple packed = py::make_tuple(args...);
  PyObject* result = CallingPython(
      [&] { return PyObject_CallObject(function.ptr(), packed.ptr()); });
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

py::object Wrapped(const Tensor& t) {
  return py::reinterpret_steal<py::object>(Wrap(t));
}

py::tuple Wrapped(std::span<const Tensor> ts) {
  py::tuple out(ts.size());
  for (size_t i = 0; i < ts.size(); ++i) out[i] = Wrapped(ts[i]);
  return out;
}

// What a hook on a node returned replaces `grads`; None leaves them.
void Replace(const char* op, const py::object& result,
             std::span<Tensor> grads) {
  if (result.is_none()) return;
  const bool many = PyTuple_Check(result.ptr()) || PyList_Check(result.ptr());
  if (!many && !IsTensor(result.ptr())) {
    ThrowTypeError(absl::StrCat(
        op, ": a hook must return a tuple of gradients or None, not ",
        TypeName(result.ptr())));
  }
  const size_t n = many ? py::len(result) : 1;
  PROA_REQUIRE(n == grads.size(), op, ": a hook returned ", n,
               " gradients for ", grads.size());
  for (size_t i = 0; i < n; ++i) {
    const py::object grad = many ? py::object(result[py::int_(i)]) : result;
    if (grad.is_none()) {
      grads[i] = Tensor();
    } else if (IsTensor(grad.ptr())) {
      grads[i] = Unwrap(grad.ptr());
    } else {
      ThrowTypeError(
          absl::StrCat(op, ": gradient ", i,
                       " that a hook returned must be a Tensor or None, not ",
                       TypeName(grad.ptr())));
    }
  }
}

struct CallTensorHook {
  Tensor operator()(const HookRegistration& r, const Tensor& grad) const {
    const GilAcquire gil;
    const py::object result = Call(r, Wrapped(grad));
    if (result.is_none()) return Tensor();
    if (!IsTensor(result.ptr())) {
      ThrowTypeError(
          "register_hook: a hook must return a Tensor or None, not " +
          TypeName(result.ptr()));
    }
    return Unwrap(result.ptr());
  }
};

struct CallPreHook {
  void operator()(const HookRegistration& r, std::span<Tensor> grads) const {
    const GilAcquire gil;
    Replace("register_prehook", Call(r, Wrapped(grads)), grads);
  }
};

struct CallPostHook {
  void operator()(const HookRegistration& r, std::span<Tensor> input_grads,
                  std::span<const Tensor> grads) const {
    const GilAcquire gil;
    Replace("register_hook", Call(r, Wrapped(input_grads), Wrapped(grads)),
            input_grads);
  }
};

// The leaf by a weak reference: its node must not own it.
struct CallLeafHook {
  std::shared_ptr<OwnedObject> leaf;  // null: without argument
  void operator()(const HookRegistration& r, std::span<Tensor>,
                  std::span<const Tensor>) const {
    const GilAcquire gil;
    if (leaf == nullptr) {
      Call(r);
      return;
    }
    const auto tensor =
        py::reinterpret_borrow<py::object>(PyWeakref_GetObject(leaf->get()));
    if (!tensor.is_none()) Call(r, tensor);
  }
};

using TensorHookOfPython = PythonHook<CallTensorHook>;
using PreHookOfPython = PythonHook<CallPreHook>;
using PostHookOfPython = PythonHook<CallPostHook>;
using LeafHookOfPython = PythonHook<CallLeafHook>;

template <typename F>
void VisitRegistrations(const Node& node, F f) {
  node.VisitHooks(
      [&](const autograd::TensorHook& hook) {
        if (const auto* h = hook.target<TensorHookOfPython>())
          f(*h->registration);
      },
      [&](const autograd::NodePreHook& hook) {
        if (const auto* h = hook.target<PreHookOfPython>()) f(*h->registration);
      },
      [&](const autograd::NodePostHook& hook) {
        if (const auto* h = hook.target<PostHookOfPython>())
          f(*h->registration);
        if (const auto* h = hook.target<LeafHookOfPython>())
          f(*h->registration);
      });
}

// Checks, takes removed hooks off, and lets `add(registration)` put the new one
// on.
template <typename Add>
py::object Register(const char* op, Node& node, PyObject* hook, Add add) {
  if (!PyCallable_Check(hook)) {
    ThrowTypeError(
        absl::StrCat(op, ": hook must be callable, not ", TypeName(hook)));
  }
  std::vector<int64_t> removed;
  VisitRegistrations(node, [&](const HookRegistration& r) {
    if (r.function.get() == nullptr) removed.push_back(r.id);
  });
  for (const int64_t id : removed) node.RemoveHook(id);
  const auto registration = std::make_shared<HookRegistration>(node, hook);
  registration->id = add(registration);
  return py::cast(HookHandle{registration});
}

}  // namespace

py::object AddPythonHook(const char* op, Node& node, uint32_t slot,
                         PyObject* hook) {
  return Register(op, node, hook, [&](const auto& r) {
    return node.AddHook(slot, TensorHookOfPython{r, {}});
  });
}

py::object AddPythonPreHook(const char* op, Node& node, PyObject* hook) {
  return Register(op, node, hook, [&](const auto& r) {
    return node.AddPreHook(PreHookOfPython{r, {}});
  });
}

py::object AddPythonPostHook(const char* op, Node& node, PyObject* hook) {
  return Register(op, node, hook, [&](const auto& r) {
    return node.AddPostHook(PostHookOfPython{r, {}});
  });
}

py::object AddPythonLeafHook(const char* op, Node& node, PyObject* tensor,
                             bool with_tensor, PyObject* hook) {
  CallLeafHook call;
  if (with_tensor) {
    const Ref weak = Ref::New(PyWeakref_NewRef(tensor, nullptr));
    call.leaf = std::make_shared<OwnedObject>(weak.get());
  }
  return Register(op, node, hook, [&](const auto& r) {
    return node.AddPostHook(LeafHookOfPython{r, call});
  });
}

int TraverseHooks(const Node& node, visitproc visit, void* arg) {
  int stopped = 0;
  VisitRegistrations(node, [&](const HookRegistration& r) {
    if (stopped == 0 && r.function.shown() != nullptr)
      stopped = visit(r.function.shown(), arg);
  });
  return stopped;
}

void ClearHooks(const Node& node) {
  if (node.use_count() != 1) return;
  // What goes may take the node along.
  std::vector<py::object> functions;
  VisitRegistrations(node, [&](HookRegistration& r) {
    if (r.function.get() == nullptr) return;
    functions.push_back(py::reinterpret_borrow<py::object>(r.function.get()));
    r.function.Reset();
  });
}

void BindHooks(py::module_& m) {
  py::class_<HookHandle>(m, "HookHandle", "What registering a hook returns.")
      .def("remove", &HookHandle::Remove,
           "Takes the hook off; True if it was there.");
}

}  // namespace proa::inline v0::python
