#include "python/core/py_layer.h"

#include <structmember.h>
#include <cstddef>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/function.h"
#include "autograd/grad_state.h"
#include "pybind11/pybind11.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/nested.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

using autograd::FunctionContext;
using Tensors = std::vector<Tensor>;

PyTypeObject* context_type = nullptr;

// --- The context

struct ContextObject {
  PyObject_HEAD FunctionContext context;
  PyObject* pattern;  // of what was saved; null for a plain row of tensors
  PyObject* dict;
  PyObject* weakrefs;
};

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

template <typename F>
PyCFunction Fast(F f) {
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
    "What forward and backward of a PyLayer get as `ctx`: keeps tensors for "
    "backward, and\n"
    "any other value as an attribute.";

// --- The node

// Arguments (or outputs) that hold tensors, each a tensor or a nesting with
// some.
class Slots {
 public:
  // Appends the tensors of `o`, if it has any.
  void Add(PyObject* o, Tensors& tensors) {
    if (IsTensor(o)) {
      slots_.push_back({PyLong_FromSize_t(tensors.size())});
      tensors.push_back(Unwrap(o));
      return;
    }
    if (!IsNesting(o)) return;
    const size_t before = tensors.size();
    Ref pattern = TakeTensors(o, tensors);
    if (tensors.size() == before) return;
    slots_.push_back({pattern.release()});
  }
  ~Slots() {
    for (PyObject* s : slots_) Py_DECREF(s);
  }
  Slots() = default;
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  size_t size() const { return slots_.size(); }
  PyObject* pattern(size_t i) const { return slots_[i]; }

 private:
  std::vector<PyObject*> slots_;
};

class PyLayerNode final : public autograd::FunctionNode {
 public:
  PyLayerNode(PyObject* layer, PyObject* context)
      : name_(reinterpret_cast<PyTypeObject*>(layer)->tp_name),
        layer_(Py_NewRef(layer)),
        context_(Py_NewRef(context)) {}
  ~PyLayerNode() override {
    if (!Py_IsInitialized()) return;  // the interpreter has taken them along
    const GilAcquire gil;
    DropContext();
    Py_DECREF(layer_);
    delete std::exchange(slots_, nullptr);
  }

  FunctionContext& context() override {
    if (context_ == nullptr) {
      Fail(absl::StatusCode::kFailedPrecondition, name_,
           ": its context was collected as garbage");
    }
    return Self(context_)->context;
  }
  const char* name() const override { return name_.c_str(); }

  Tensors Formula(std::span<const Tensor> grads) override {
    const GilAcquire gil;
    try {
      const Ref function = Ref::New(PyObject_GetAttrString(layer_, "backward"));
      std::vector<Ref> owned;
      std::vector<PyObject*> args = {context_};
      for (size_t i = 0; i < slots_->outputs.size(); ++i) {
        owned.push_back(FillPattern(slots_->outputs.pattern(i), grads));
        args.push_back(owned.back().get());
      }
      const Ref keep = Ref::Borrow(context_);
      const Ref result = Ref::New(PyObject_Vectorcall(
          function.get(), args.data(), args.size(), nullptr));
      return Gradients(result.get());
    } catch (const PythonError&) {
      throw pybind11::error_already_set();  // with its traceback, past the
                                            // engine
    }
  }

  struct AllSlots {
    Slots inputs, outputs;
  };
  AllSlots& slots() { return *slots_; }
  PyObject* context_object() const { return context_; }
  void DropContext() {
    if (context_ == nullptr) return;
    Disconnect(Self(context_)->context);
    Py_CLEAR(context_);
  }

 private:
  // One gradient for each argument with tensors, nested as it was; or one for
  // each tensor.
  Tensors Gradients(PyObject* result) {
    const Slots& inputs = slots_->inputs;
    const size_t tensors = edges().size();
    Tensors found(tensors);
    const bool many =
        PyTuple_Check(result) || (PyList_Check(result) && inputs.size() != 1);
    const Ref items = many ? Ref::New(PySequence_Tuple(result))
                           : Ref::New(PyTuple_Pack(1, result));
    const auto n = static_cast<size_t>(PyTuple_GET_SIZE(items.get()));
    PROA_REQUIRE(n == inputs.size() || n == tensors, name_,
                 ".backward returned ", n, " gradients; forward was given ",
                 tensors, " tensors",
                 inputs.size() == tensors
                     ? ""
                     : absl::StrCat(" in ", inputs.size(), " arguments"));
    for (size_t i = 0; i < n; ++i) {
      PyObject* item =
          PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i));
      const std::string what =
          absl::StrCat(name_, ": gradient ", i, " that backward returned");
      if (n == inputs.size() && !(n == tensors && IsTensor(item))) {
        MatchPattern(inputs.pattern(i), item, what.c_str(), found);
      } else {
        const Ref at = Ref::New(PyLong_FromSize_t(i));
        MatchPattern(at.get(), item, what.c_str(), found);
      }
    }
    return found;
  }

  const std::string name_;
  PyObject* layer_;
  PyObject* context_;
  AllSlots* slots_ = new AllSlots;  // goes with the global lock held
};

// --- The call

// Inside the call, Python code runs forward with grad off.
Ref CallForward(PyObject* layer, PyObject* context, PyObject* args,
                PyObject* kwargs) {
  const Ref forward = Ref::New(PyObject_GetAttrString(layer, "forward"));
  std::vector<PyObject*> all = {context};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    all.push_back(PyTuple_GET_ITEM(args, i));
  }
  const InterpreterScope no_grad = autograd::FunctionCall::ForwardScope();
  return Ref::New(
      PyObject_VectorcallDict(forward.get(), all.data(), all.size(), kwargs));
}

// The items of a tuple or list, else the one output, are what backward gets
// gradients of.
void AddOutputs(PyObject* result, Slots& slots, Tensors& tensors) {
  if (!PyTuple_Check(result) && !PyList_Check(result))
    return slots.Add(result, tensors);
  const Ref items = Ref::New(PySequence_Tuple(result));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    slots.Add(PyTuple_GET_ITEM(items.get(), i), tensors);
  }
}

bool SameHandles(const Tensors& a, const Tensors& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_same(b[i])) return false;
  }
  return true;
}

Ref Apply(PyObject* layer, PyObject* args, PyObject* kwargs) {
  const Ref context = Ref::New(NewContext(context_type, nullptr, nullptr));
  const auto node = autograd::MakeNode<PyLayerNode>(layer, context.get());
  autograd::FunctionCall call(node);
  Tensors inputs;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    node->slots().inputs.Add(PyTuple_GET_ITEM(args, i), inputs);
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0;
       kwargs != nullptr && PyDict_Next(kwargs, &at, &key, &value);) {
    node->slots().inputs.Add(value, inputs);
  }
  for (const Tensor& t : inputs) call.AddInput(t);

  const Ref result = CallForward(layer, context.get(), args, kwargs);
  Tensors made;
  AddOutputs(result.get(), node->slots().outputs, made);
  Tensors outputs = made;
  const bool recorded = call.Finish(outputs);
  Ref returned = result;
  if (!SameHandles(made, outputs)) {
    const Tensor* next = outputs.data();
    returned = ReplaceTensors(result.get(), next);
  }
  // What the context refers to may lead back to an output.
  if (recorded && Self(context.get())->dict != nullptr) {
    for (const Tensor& t : outputs) {
      const Ref o = Ref::New(Wrap(t));
      TrackForCollector(reinterpret_cast<TensorObject*>(o.get()));
    }
  }
  return returned;
}

PyObject* CallPyLayer(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return Guarded([&]() -> PyObject* {
    if (n != 3 || !PyType_Check(args[0]) || !PyTuple_Check(args[1]) ||
        !PyDict_Check(args[2])) {
      ThrowTypeError("call_py_layer: takes a class, a tuple and a dict");
    }
    return Apply(args[0], args[1],
                 PyDict_GET_SIZE(args[2]) != 0 ? args[2] : nullptr)
        .release();
  });
}

PyMethodDef functions[] = {
    {"call_py_layer", Fast(&CallPyLayer), METH_FASTCALL,
     "call_py_layer(cls, args, kwargs, /)\n--\n\nWhat PyLayer.apply does."},
    {nullptr, nullptr, 0, nullptr}};

PyLayerNode* SoleNode(const Tensor& t) {
  if (!t.defined() || t.impl()->use_count() != 1 || !autograd::RequiresGrad(t))
    return nullptr;
  const autograd::GradState* state = autograd::GradState::Of(t);
  if (state == nullptr || !state->producer.node ||
      state->producer.node->use_count() != 1) {
    return nullptr;
  }
  return dynamic_cast<PyLayerNode*>(state->producer.node.get());
}

}  // namespace

PyObject* SoleContext(const Tensor& t) {
  const PyLayerNode* node = SoleNode(t);
  return node != nullptr ? node->context_object() : nullptr;
}

void DropSoleContext(const Tensor& t) {
  if (PyLayerNode* node = SoleNode(t)) node->DropContext();
}

void BindPyLayer(PyObject* module) {
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
  CheckStatus(PyModule_AddFunctions(module, functions));
}

}  // namespace proa::inline v0::python
