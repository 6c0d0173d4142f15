// Attributes and methods of Tensor that concern differentiation.
#include <Python.h>

#include <span>
#include <string>
#include <utility>
#include <variant>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "ops/boxed_call.h"
#include "ops/definition.h"
#include "ops/value.h"
#include "python/core/arguments.h"
#include "python/core/autograd_functions.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/grad_node.h"
#include "python/core/pybind.h"
#include "python/core/tensor_hooks.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

TensorObject* Self(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

PyObject* GetStopGradient(PyObject* o, void*) {
  return PyBool_FromLong(!autograd::RequiresGrad(Unwrap(o)) &&
                         !Self(o)->asked_for_grad);
}

int SetStopGradient(PyObject* o, PyObject* value, void*) {
  return GuardedStatus([&] {
    if (value == nullptr)
      ThrowPython(PyExc_TypeError, "Tensor.stop_gradient cannot be deleted");
    const int stop = PyObject_IsTrue(value);
    CheckStatus(stop);
    const Tensor& t = Unwrap(o);
    // To let gradients flow to integers asks for nothing; programs do it for
    // all of their inputs alike, and read it back.
    if (!IsDifferentiable(t.dtype())) {
      Self(o)->asked_for_grad = stop == 0;
      return 0;
    }
    autograd::SetRequiresGrad(t, stop == 0);
    return 0;
  });
}

PyObject* GetGradient(PyObject* o, void*) {
  return Guarded([&] { return Wrap(autograd::GetGrad(Unwrap(o))); });
}

int SetGradient(PyObject* o, PyObject* value, void*) {
  return GuardedStatus([&] {
    if (value != nullptr && value != Py_None && !IsTensor(value)) {
      ThrowTypeError("Tensor.grad must be a Tensor or None, not " +
                     TypeName(value));
    }
    const bool clear = value == nullptr || value == Py_None;
    autograd::SetGrad(Unwrap(o), clear ? Tensor() : Unwrap(value));
    return 0;
  });
}

PyObject* GetIsLeaf(PyObject* o, void*) {
  return PyBool_FromLong(autograd::IsLeaf(Unwrap(o)));
}

PyObject* GetData(PyObject* o, void*) {
  return Guarded([&] { return Wrap(autograd::Detach(Unwrap(o))); });
}

// As in the reference that is no error; but who calls backward wants gradients.
void WarnOfNoGraph() {
  CheckStatus(PyErr_WarnEx(
      PyExc_UserWarning,
      "backward: no parameter gets a gradient: stop_gradient of the tensor is "
      "True; was it computed under no_grad, detached, or from values of which "
      "none has stop_gradient=False?",
      1));
}

constexpr const char* backward_names[] = {"self", "grad_tensor",
                                          "retain_graph"};
constinit Signature backward_signature("backward", backward_names, 3, 1);

PyObject* Backward(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                   PyObject* kwnames) {
  return Guarded([&]() -> PyObject* {
    PyObject* a[3];
    Bind(backward_signature, self, args, nargs, kwnames, a);
    const OptionalTensorArg grad(backward_signature, 1, a);
    autograd::BackwardOptions options;
    options.retain_graph = Given(a[2]) && ToBool(backward_signature, 2, a[2]);
    const Tensor& t = Unwrap(self);
    if (!autograd::RequiresGrad(t) && !t.is_symbolic()) WarnOfNoGraph();
    RunBackward({&Unwrap(self), 1}, {&grad.get(), 1}, options);
    Py_RETURN_NONE;
  });
}

constexpr const char* clear_names[] = {"self", "set_to_zero"};
constinit Signature clear_signature("clear_gradient", clear_names, 2, 1);

PyObject* ClearGradient(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  return Guarded([&]() -> PyObject* {
    PyObject* a[2];
    Bind(clear_signature, self, args, nargs, kwnames, a);
    const bool set_to_zero = !Given(a[1]) || ToBool(clear_signature, 1, a[1]);
    RefuseInRecording("Tensor.clear_gradient");
    const Tensor& t = Unwrap(self);
    if (set_to_zero) {
      autograd::ClearGrad(t);
    } else {
      autograd::SetGrad(t, Tensor());
    }
    Py_RETURN_NONE;
  });
}

PyObject* Gradient(PyObject* self, PyObject*) {
  return Guarded([&]() -> PyObject* {
    const Ref grad = Ref::New(Wrap(autograd::GetGrad(Unwrap(self))));
    if (grad.get() == Py_None) Py_RETURN_NONE;
    return PyObject_CallMethod(grad.get(), "numpy", nullptr);
  });
}

// In a program the op `detach`, so that a branch or loop that is differentiated
// by running it again has no gradient there either.
PyObject* Detach(PyObject* self, PyObject*) {
  return Guarded([&] {
    const Tensor& t = Unwrap(self);
    if (!t.is_symbolic() || !autograd::RequiresGrad(t))
      return Wrap(autograd::Detach(t));
    static const OpDefinition& op = *FindOp("detach");
    const Value args[] = {t};
    Value results[1];
    CallBoxed(op, std::span<const Value>(args), std::span<Value>(results));
    return Wrap(std::get<Tensor>(std::move(results[0])));
  });
}

PyObject* DetachInPlace(PyObject* self, PyObject*) {
  return Guarded([&] {
    autograd::SetRequiresGrad(Unwrap(self), false);
    return Py_NewRef(self);
  });
}

PyObject* RetainGrads(PyObject* self, PyObject*) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    if (autograd::RequiresGrad(t)) autograd::RetainGrad(t);
    Py_RETURN_NONE;
  });
}

// From now on the collector looks at the hooks of `self`.
PyObject* Hooked(PyObject* self, py::object handle) {
  TrackForCollector(Self(self));
  return handle.release().ptr();
}

PyObject* RegisterHook(PyObject* self, PyObject* hook) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    PROA_REQUIRE(autograd::RequiresGrad(t),
                 "register_hook: x does not require grad, so no gradient will "
                 "come; x is ",
                 Describe(t));
    const autograd::Edge edge = autograd::GradEdge(t);
    return Hooked(self,
                  AddPythonHook("register_hook", *edge.node, edge.slot, hook));
  });
}

PyObject* AddLeafHook(const char* op, PyObject* self, bool with_tensor,
                      PyObject* hook) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    PROA_REQUIRE(
        autograd::RequiresGrad(t) && autograd::IsLeaf(t), op,
        ": only a leaf that requires grad accumulates a gradient; x is ",
        Describe(t),
        autograd::IsLeaf(t) ? ", which does not require grad"
                            : ", which an op made");
    return Hooked(self, AddPythonLeafHook(op, *autograd::GradEdge(t).node, self,
                                          with_tensor, hook));
  });
}

PyObject* RegisterPostAccumulateGradHook(PyObject* self, PyObject* hook) {
  return AddLeafHook("register_post_accumulate_grad_hook", self, true, hook);
}

PyObject* RegisterBackwardHook(PyObject* self, PyObject* hook) {
  return AddLeafHook("_register_backward_hook", self, false, hook);
}

PyObject* GetGradFn(PyObject* o, void*) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(o);
    if (autograd::IsLeaf(t)) Py_RETURN_NONE;
    return WrapNode(autograd::GradEdge(t).node);
  });
}

}  // namespace

void AddAutogradMethods(Methods* methods, Properties* properties) {
  const PyGetSetDef rows[] = {
      {"stop_gradient", GetStopGradient, SetStopGradient,
       "True if no gradient flows to this tensor. Settable.", nullptr},
      {"grad", GetGradient, SetGradient,
       "The accumulated gradient, or None. Settable.", nullptr},
      {"is_leaf", GetIsLeaf, nullptr, "True unless a recorded op made it.",
       nullptr},
      {"grad_fn", GetGradFn, nullptr,
       "The node of the backward graph that made this tensor; None for a leaf.",
       nullptr},
      {"data", GetData, nullptr,
       "A tensor with the same elements outside of the graph.", nullptr},
  };
  properties->insert(properties->end(), std::begin(rows), std::end(rows));
  const auto fast = [](FastFunction f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
  };
  const PyMethodDef functions[] = {
      {"backward", fast(&Backward), METH_FASTCALL | METH_KEYWORDS,
       "backward($self, grad_tensor=None, retain_graph=False)\n--\n\n"
       "Adds the derivatives of this tensor to `grad` of the leaves it was "
       "made from."},
      {"clear_gradient", fast(&ClearGradient), METH_FASTCALL | METH_KEYWORDS,
       "clear_gradient($self, set_to_zero=True)\n--\n\nMakes `grad` zeros, or "
       "None."},
      {"clear_grad", fast(&ClearGradient), METH_FASTCALL | METH_KEYWORDS,
       "clear_grad($self, set_to_zero=True)\n--\n\nMakes `grad` zeros, or "
       "None."},
      {"gradient", &Gradient, METH_NOARGS,
       "gradient($self)\n--\n\n`grad` as a NumPy array, or None."},
      {"detach", &Detach, METH_NOARGS,
       "detach($self)\n--\n\nA tensor with the same elements outside of the "
       "graph."},
      {"detach_", &DetachInPlace, METH_NOARGS,
       "detach_($self)\n--\n\nTakes this tensor out of the graph."},
      {"retain_grads", &RetainGrads, METH_NOARGS,
       "retain_grads($self)\n--\n\nMakes backward keep `grad` of this tensor, "
       "which is no leaf."},
      {"register_hook", &RegisterHook, METH_O,
       "register_hook($self, hook)\n--\n\n"
       "Calls hook(grad) when the gradient of this tensor is known; a Tensor "
       "that it "
       "returns replaces the gradient. The result has remove()."},
      {"register_post_accumulate_grad_hook", &RegisterPostAccumulateGradHook,
       METH_O,
       "register_post_accumulate_grad_hook($self, hook)\n--\n\n"
       "Calls hook(tensor) each time that backward has added to `grad` of this "
       "leaf. The "
       "result has remove()."},
      {"_register_backward_hook", &RegisterBackwardHook, METH_O,
       "_register_backward_hook($self, hook)\n--\n\n"
       "Calls hook() each time that backward has added to `grad` of this leaf. "
       "The result "
       "has remove()."},
  };
  methods->insert(methods->end(), std::begin(functions), std::end(functions));
}

}  // namespace proa::inline v0::python
