#include "python/core/py_layer.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/function.h"
#include "autograd/grad_state.h"
#include "ops/elementwise/cast_ops.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/nested.h"
#include "python/core/node_reference.h"
#include "python/core/py_layer_context.h"
#include "python/core/pybind.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

using autograd::FunctionContext;
using Tensors = std::vector<Tensor>;

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
    BeforeGivingBack();
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
        context_(*this, context),
        autocast_((thread_interpreters.forced & kAutocast) != 0
                      ? thread_interpreters.autocast
                      : 0) {}
  ~PyLayerNode() override {
    if (!Py_IsInitialized()) return;  // the interpreter has taken them along
    const GilAcquire gil;
    Disconnect(context());
    Py_DECREF(layer_);
    delete std::exchange(slots_, nullptr);
  }

  FunctionContext& context() override { return ContextOf(context_.get()); }
  const char* name() const override { return name_.c_str(); }

  Tensors Formula(std::span<const Tensor> grads) override {
    const GilAcquire gil;
    try {
      const Ref function = Ref::New(PyObject_GetAttrString(layer_, "backward"));
      std::vector<Ref> owned;
      std::vector<PyObject*> args = {context_.get()};
      for (size_t i = 0; i < slots_->outputs.size(); ++i) {
        owned.push_back(FillPattern(slots_->outputs.pattern(i), grads));
        args.push_back(owned.back().get());
      }
      const Ref keep = Ref::Borrow(context_.get());
      Tensors found;
      {
        // What autocast did forward, it does backward.
        const InterpreterScope scope =
            InterpreterScope::Force(autocast_ != 0 ? kAutocast : 0);
        if (autocast_ != 0) thread_interpreters.autocast = autocast_;
        const Ref result = Ref::New(CallingPython([&] {
          return PyObject_Vectorcall(function.get(), args.data(), args.size(),
                                     nullptr);
        }));
        found = Gradients(result.get());
      }
      ToInputDTypes(found);
      return found;
    } catch (const PythonError&) {
      throw pybind11::error_already_set();  // with its traceback, past the
                                            // engine
    }
  }

  struct AllSlots {
    Slots inputs, outputs;
  };
  AllSlots& slots() { return *slots_; }
  void AddInputDType(const Tensor& t) {
    dtypes_.push_back(t.defined() ? t.dtype() : DType::kFloat32);
  }

  PyObject* shown_context() const { return context_.shown(); }

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

  // Autocast decides the dtypes of what forward and backward compute: what is
  // of a dtype that it casts becomes that of its input.
  void ToInputDTypes(Tensors& grads) const {
    const auto is_cast = [](DType t) {
      return t == DType::kFloat32 || t == DType::kFloat16 ||
             t == DType::kBFloat16;
    };
    for (size_t i = 0; i < grads.size() && i < dtypes_.size(); ++i) {
      Tensor& g = grads[i];
      if (g.defined() && g.dtype() != dtypes_[i] && is_cast(g.dtype()) &&
          is_cast(dtypes_[i])) {
        g = ops::cast(g, dtypes_[i]);
      }
    }
  }

  const std::string name_;
  PyObject* layer_;
  NodeReference context_;
  const uint32_t autocast_;    // settings of the forward call; 0 if it was off
  std::vector<DType> dtypes_;  // of the inputs
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

constinit PyLayerRecorder recorder = nullptr;

Ref ApplyAnywhere(PyObject* layer, PyObject* args, PyObject* kwargs) {
  if (recorder != nullptr) {
    Tensors inputs;
    TakeTensors(args, inputs);
    if (kwargs != nullptr) TakeTensors(kwargs, inputs);
    for (const Tensor& t : inputs) {
      if (t.defined() && t.is_symbolic()) {
        return recorder(layer, args, kwargs, inputs);
      }
    }
  }
  return ApplyPyLayer(layer, args, kwargs);
}

PyObject* CallPyLayer(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return Guarded([&]() -> PyObject* {
    if (n != 3 || !PyType_Check(args[0]) || !PyTuple_Check(args[1]) ||
        !PyDict_Check(args[2])) {
      ThrowTypeError("call_py_layer: takes a class, a tuple and a dict");
    }
    return ApplyAnywhere(args[0], args[1],
                         PyDict_GET_SIZE(args[2]) != 0 ? args[2] : nullptr)
        .release();
  });
}

PyMethodDef functions[] = {
    {"call_py_layer",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&CallPyLayer)),
     METH_FASTCALL,
     "call_py_layer(cls, args, kwargs, /)\n--\n\nWhat PyLayer.apply does."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Ref ApplyPyLayer(PyObject* layer, PyObject* args, PyObject* kwargs) {
  const Ref context = Ref::New(NewPyLayerContext());
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
  for (const Tensor& t : inputs) {
    call.AddInput(t);
    node->AddInputDType(t);
  }

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
  if (recorded) {
    for (const Tensor& t : outputs) {
      const Ref o = Ref::New(Wrap(t));
      TrackForCollector(reinterpret_cast<TensorObject*>(o.get()));
    }
  }
  return returned;
}

void InstallPyLayerRecorder(PyLayerRecorder r) { recorder = r; }

PyObject* ContextOfNode(const autograd::Node& node) {
  const auto* layer = dynamic_cast<const PyLayerNode*>(&node);
  return layer != nullptr ? layer->shown_context() : nullptr;
}

void BindPyLayer(PyObject* module) {
  BindPyLayerContext(module);
  CheckStatus(PyModule_AddFunctions(module, functions));
}

}  // namespace proa::inline v0::python
