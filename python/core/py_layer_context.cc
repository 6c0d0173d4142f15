#include "python/core/py_layer_context.h"

#include <structmember.h>
#include <cstddef>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "python/core/error.h"
#include "python/core/nested.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

using autograd::FunctionContext;
using Tensors = std::vector<Tensor>;

PyTypeObject* context_type = nullptr;

ContextObject* Self(PyObject* o) { return reinterpret_cast<ContextObject*>(o); }

PyObject* NewContext(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o != nullptr) new (&Self(o)->context) FunctionContext;
  return o;
}

int TraverseContext(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(Self(o)->dict);
  return 0;
}

int ClearContext(PyObject* o) {
  Py_CLEAR(Self(o)->dict);
  return 0;
}

void DeallocContext(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (Self(o)->weakrefs != nullptr) PyObject_ClearWeakRefs(o);
  Py_CLEAR(Self(o)->pattern);
  ClearContext(o);
  Self(o)->context.~FunctionContext();
  type->tp_free(o);
  Py_DECREF(type);
}

Tensor TensorArgument(const char* method, Py_ssize_t i, PyObject* o) {
  if (!IsTensor(o)) {
    ThrowTypeError(absl::StrCat(method, ": argument ", i,
                                " must be a Tensor, not ", TypeName(o)));
  }
  return Unwrap(o);
}

// Only tensors, None and nestings of them: the rest may be an attribute of ctx.
void CheckSaved(PyObject* o) {
  if (o == Py_None || IsTensor(o)) return;
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    ThrowTypeError(
        "save_for_backward: takes Tensors, None, and lists and tuples of them, "
        "not " +
        TypeName(o) + "; keep other values as attributes of ctx");
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    CheckSaved(PySequence_Fast_GET_ITEM(o, i));
  }
}

PyObject* SaveForBackward(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return Guarded([&]() -> PyObject* {
    Tensors tensors;
    bool plain = true;
    for (Py_ssize_t i = 0; i < n; ++i) plain &= IsTensor(args[i]);
    Py_CLEAR(Self(self)->pattern);
    if (plain) {
      for (Py_ssize_t i = 0; i < n; ++i) tensors.push_back(Unwrap(args[i]));
    } else {
      const Ref all = Ref::New(PyTuple_New(n));
      for (Py_ssize_t i = 0; i < n; ++i) {
        PyTuple_SET_ITEM(all.get(), i, Py_NewRef(args[i]));
      }
      Ref pattern =
          TakeTensors(all.get(), tensors);  // first: it guards the recursion
      CheckSaved(all.get());
      Self(self)->pattern = pattern.release();
    }
    Self(self)->context.SaveForBackward(std::move(tensors));
    Py_RETURN_NONE;
  });
}

PyObject* GetSavedTensors(PyObject* self, void*) {
  return Guarded([&] {
    const Tensors saved = Self(self)->context.Saved();
    // Kept as attributes they lead back here, those that have this history.
    std::vector<Ref> tracked;
    for (const Tensor& t : saved) {
      if (!t.defined() || !autograd::RequiresGrad(t)) continue;
      tracked.push_back(Ref::New(Wrap(t)));
      TrackForCollector(reinterpret_cast<TensorObject*>(tracked.back().get()));
    }
    if (Self(self)->pattern != nullptr)
      return FillPattern(Self(self)->pattern, saved).release();
    Ref out = Ref::New(PyTuple_New(static_cast<Py_ssize_t>(saved.size())));
    for (size_t i = 0; i < saved.size(); ++i) {
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), Wrap(saved[i]));
    }
    return out.release();
  });
}

PyObject* SavedTensorMethod(PyObject* self, PyObject*) {
  if (Self(self)->context.num_saved() == 0 && Self(self)->pattern == nullptr)
    Py_RETURN_NONE;
  return GetSavedTensors(self, nullptr);
}

PyObject* MarkNotInplace(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return Guarded([&]() -> PyObject* {
    for (Py_ssize_t i = 0; i < n; ++i) {
      Self(self)->context.MarkNotInplace(
          TensorArgument("mark_not_inplace", i, args[i]));
    }
    Py_RETURN_NONE;
  });
}

PyObject* MarkNonDifferentiable(PyObject* self, PyObject* const* args,
                                Py_ssize_t n) {
  return Guarded([&]() -> PyObject* {
    for (Py_ssize_t i = 0; i < n; ++i) {
      Self(self)->context.MarkNonDifferentiable(
          TensorArgument("mark_non_differentiable", i, args[i]));
    }
    Py_RETURN_NONE;
  });
}

PyObject* SetMaterializeGrads(PyObject* self, PyObject* value) {
  return Guarded([&]() -> PyObject* {
    const int on = PyObject_IsTrue(value);
    CheckStatus(on);
    Self(self)->context.SetMaterializeGrads(on != 0);
    Py_RETURN_NONE;
  });
}

PyObject* GetNeedsInputGrad(PyObject* self, void*) {
  return Guarded([&] {
    const FunctionContext& context = Self(self)->context;
    Ref out = Ref::New(PyTuple_New(context.num_inputs()));
    for (int i = 0; i < context.num_inputs(); ++i) {
      PyTuple_SET_ITEM(out.get(), i,
                       PyBool_FromLong(context.needs_input_grad(i)));
    }
    return out.release();
  });
}

PyCFunction Fast(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef context_methods[] = {
    {"save_for_backward", Fast(&SaveForBackward), METH_FASTCALL,
     "save_for_backward($self, /, *tensors)\n--\n\n"
     "Keeps inputs, outputs or other tensors for backward; call it once, in "
     "forward.\n\n"
     "An in-place change of one afterwards is an error in backward. Lists and "
     "tuples of\n"
     "tensors and None are kept as they are nested."},
    {"saved_tensor", &SavedTensorMethod, METH_NOARGS,
     "saved_tensor($self, /)\n--\n\nThe tuple that save_for_backward was "
     "given; None if there is none."},
    {"mark_not_inplace", Fast(&MarkNotInplace), METH_FASTCALL,
     "mark_not_inplace($self, /, *tensors)\n--\n\n"
     "Inputs that forward returns without having changed them: the caller gets "
     "new tensors\n"
     "on the same elements."},
    {"mark_non_differentiable", Fast(&MarkNonDifferentiable), METH_FASTCALL,
     "mark_non_differentiable($self, /, *tensors)\n--\n\n"
     "Outputs through which no gradient flows; their stop_gradient stays "
     "True."},
    {"set_materialize_grads", &SetMaterializeGrads, METH_O,
     "set_materialize_grads($self, value, /)\n--\n\n"
     "Whether backward gets zeros (True, the default) or None for outputs "
     "without gradient."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef context_properties[] = {
    {"saved_tensors", &GetSavedTensors, nullptr,
     "The tuple that save_for_backward was given, empty if there is none.",
     nullptr},
    {"needs_input_grad", &GetNeedsInputGrad, nullptr,
     "A tuple with a bool for each tensor among forward's arguments.", nullptr},
    {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr,
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef context_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ContextObject, dict), READONLY,
     nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ContextObject, weakrefs),
     READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

constexpr char kContextDoc[] =
    "PyLayerContext()\n--\n\n"
    R"(What forward and backward of a PyLayer get as `ctx`: keeps tensors for backward, and any other value as an attribute.

Examples:
    >>> class Scaled(proa.autograd.PyLayer):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         ctx.save_for_backward(x)
    ...         return x * x * factor
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensor()
    ...         return grad * x * (2 * ctx.factor)
    >>> x = proa.to_tensor([1.0, 3.0], stop_gradient=False)
    >>> Scaled.apply(x, 10).sum().backward()
    >>> x.grad.tolist()
    [20.0, 60.0]
)";

}  // namespace

PyObject* NewPyLayerContext() {
  return Check(NewContext(context_type, nullptr, nullptr));
}

void BindPyLayerContext(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kContextDoc)},
      {Py_tp_new, reinterpret_cast<void*>(&NewContext)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&DeallocContext)},
      {Py_tp_traverse, reinterpret_cast<void*>(&TraverseContext)},
      {Py_tp_clear, reinterpret_cast<void*>(&ClearContext)},
      {Py_tp_methods, context_methods},
      {Py_tp_getset, context_properties},
      {Py_tp_members, context_members},
      {0, nullptr},
  };
  PyType_Spec spec = {
      "proa.autograd.PyLayerContext", sizeof(ContextObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = Check(PyType_FromSpec(&spec));
  context_type = reinterpret_cast<PyTypeObject*>(type);
  CheckStatus(PyModule_AddObjectRef(module, "PyLayerContext", type));
}

}  // namespace proa::inline v0::python
