#include "python/core/tensor_object.h"

#include <structmember.h>
#include <cstddef>
#include <memory>

#include "autograd/grad_state.h"
#include "ops/creation/full_ops.h"
#include "python/core/arguments.h"
#include "python/core/bindings.h"
#include "python/core/convert.h"
#include "python/core/dtype_object.h"
#include "python/core/error.h"
#include "python/core/place_object.h"
#include "python/core/py_layer.h"
#include "python/core/tensor_hooks.h"
#include "python/core/tensor_parts.h"
#include "python/core/to_tensor.h"
#include "tensor/block_pool.h"

namespace proa::inline v0::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// Objects that are ready to be used again, linked through `dict`.
#if PROA_POOLS_KEEP_BLOCKS
constexpr int kMaxFree = 1024;
#else
constexpr int kMaxFree =
    0;  // so that the address sanitizer sees each use after free
#endif
TensorObject* free_objects = nullptr;
int num_free = 0;

// Points back from the description; `self` has just been made.
PyObject* Fill(TensorObject* self, Tensor&& t) {
  t.impl()->python_object = self;
  new (&self->tensor) Tensor(std::move(t));
  self->dict = nullptr;
  self->weakrefs = nullptr;
  self->name = nullptr;
  self->persistable = false;
  self->asked_for_grad = false;
  return reinterpret_cast<PyObject*>(self);
}

// The node at which the gradient of this tensor arrives, if nobody else has the
// tensor, so that its reference to the node is this object's. Not that of a
// view of a changed tensor, which any thread may replace.
const autograd::Node* OwnedNode(const TensorObject* self) {
  if (!self->tensor.defined() || self->tensor.impl()->use_count() != 1)
    return nullptr;
  const TensorImpl* root = self->tensor.impl()->root.get();
  if (root != nullptr && root->view_flags != 0) return nullptr;
  const auto* state = autograd::GradState::Of(self->tensor);
  return state != nullptr ? state->producer.node.get() : nullptr;
}

int Traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  const autograd::Node* node = OwnedNode(self);
  if (node == nullptr) return 0;
  Py_VISIT(ContextOfNode(*node));
  return TraverseHooks(*node, visit, arg);
}

int Clear(PyObject* o) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  Py_CLEAR(self->dict);
  if (const autograd::Node* node = OwnedNode(self)) ClearHooks(*node);
  return 0;
}

void Dealloc(PyObject* o) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  PyTypeObject* type = Py_TYPE(o);
  if (PyObject_GC_IsTracked(o)) PyObject_GC_UnTrack(o);
  if (self->tensor.defined()) self->tensor.impl()->python_object = nullptr;
  if (self->weakrefs != nullptr) [[unlikely]]
    PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->name);
  self->tensor.~Tensor();
  if (type == tensor_type && num_free < kMaxFree) [[likely]] {
    self->dict = reinterpret_cast<PyObject*>(free_objects);
    free_objects = self;
    ++num_free;
  } else {
    type->tp_free(o);
  }
  Py_DECREF(type);
}

int SetAttribute(PyObject* o, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(o, name, value);
  auto* self = reinterpret_cast<TensorObject*>(o);
  if (self->dict != nullptr) TrackForCollector(self);
  return status;
}

// What a call of the type says, in one of the three forms that programs use.
struct NewArguments {
  PyObject* data = nullptr;
  PyObject* dtype = Py_None;
  PyObject* place = Py_None;
  PyObject* dims = nullptr;  // of zeros, where there are no data
  PyObject* name = Py_None;
  int stop_gradient = 1;
  int persistable = 0;
};

bool IsDType(PyObject* o) { return !PyUnicode_Check(o) && FindDType(o); }
bool IsPlace(PyObject* o) { return !PyUnicode_Check(o) && FindPlace(o); }

NewArguments ParseNew(PyObject* args, PyObject* kwargs) {
  NewArguments a;
  PyObject* unused = nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  int ok;
  if (n > 0 && IsDType(PyTuple_GET_ITEM(args, 0))) {
    static const char* names[] = {"dtype", "dims",        "name",
                                  "type",  "persistable", nullptr};
    ok = PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOp:Tensor",
                                     const_cast<char**>(names), &a.dtype,
                                     &a.dims, &a.name, &unused, &a.persistable);
  } else if ((n > 1 && IsPlace(PyTuple_GET_ITEM(args, 1))) ||
             (kwargs != nullptr &&
              PyDict_GetItemString(kwargs, "value") != nullptr)) {
    static const char* names[] = {"value",     "place", "persistable",
                                  "zero_copy", "name",  "stop_gradient",
                                  "dtype",     nullptr};
    ok = PyArg_ParseTupleAndKeywords(
        args, kwargs, "O|OpOOpO:Tensor", const_cast<char**>(names), &a.data,
        &a.place, &a.persistable, &unused, &a.name, &a.stop_gradient, &a.dtype);
  } else {
    static const char* names[] = {"data",          "dtype", "place",
                                  "stop_gradient", "name",  "persistable",
                                  "zero_copy",     nullptr};
    ok = PyArg_ParseTupleAndKeywords(
        args, kwargs, "|OOOpOpO:Tensor", const_cast<char**>(names), &a.data,
        &a.dtype, &a.place, &a.stop_gradient, &a.name, &a.persistable, &unused);
  }
  CheckStatus(ok ? 0 : -1);
  return a;
}

Tensor TensorOf(const NewArguments& a) {
  if (a.data == nullptr || a.data == Py_None) {
    const DType dtype =
        a.dtype == Py_None ? DType::kFloat32 : *FindDType(a.dtype);
    if (a.dims == nullptr || a.dims == Py_None)
      return Tensor::Empty({0}, dtype);
    static constexpr const char* names[] = {"dims"};
    static constinit Signature signature("Tensor", names, 1, 1);
    const DimVector dims = ToIntList(signature, 0, a.dims);
    return ops::full(
        IntArray(std::span<const int64_t>(dims.data(), dims.size())),
        Scalar(0.0), dtype, std::nullopt);
  }
  if (IsTensor(a.data) && a.dtype == Py_None && a.place == Py_None)
    return Unwrap(a.data).Alias();
  return ToTensor(a.data, a.dtype, a.place);
}

// Tensor(data=None, dtype=None, place=None, stop_gradient=True), or as kDoc
// says. A subclass gets an object over the elements of `data` and sees to its
// further arguments itself.
PyObject* New(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return Guarded([&]() -> PyObject* {
    NewArguments a;
    if (type == tensor_type) {
      a = ParseNew(args, kwargs);
    } else if (PyTuple_GET_SIZE(args) > 0) {
      a.data = PyTuple_GET_ITEM(args, 0);
    }
    const Ref out = Ref::New(WrapAs(type, TensorOf(a)));
    const auto set = [&](const char* name, PyObject* value) {
      CheckStatus(PyObject_SetAttrString(out.get(), name, value));
    };
    if (!a.stop_gradient) set("stop_gradient", Py_False);
    if (a.persistable) set("persistable", Py_True);
    if (a.name != Py_None) set("name", a.name);
    return Py_NewRef(out.get());
  });
}

// Whoever gets the dict may put anything into it.
PyObject* GetDict(PyObject* o, void*) {
  PyObject* dict = PyObject_GenericGetDict(o, nullptr);
  if (dict != nullptr) TrackForCollector(reinterpret_cast<TensorObject*>(o));
  return dict;
}

int SetDict(PyObject* o, PyObject* value, void*) {
  if (value != nullptr) TrackForCollector(reinterpret_cast<TensorObject*>(o));
  return PyObject_GenericSetDict(o, value, nullptr);
}

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET,
                          offsetof(TensorObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET,
                          offsetof(TensorObject, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

constexpr char kDoc[] =
    "Tensor(data=None, dtype=None, place=None, stop_gradient=True)\n--\n\n"
    "An n-dimensional array on a device, which may take part in "
    "differentiation.\n\n"
    "Also called as Tensor(value, place, persistable, zero_copy, name, "
    "stop_gradient) and, for zeros, as\n"
    "Tensor(dtype, dims, name, type, persistable).\n\n"
    R"(proa.to_tensor makes one from Python and NumPy data, ops make them from others.

Examples:
    >>> x = proa.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, (x + 1).sum(0).tolist()
    ([2, 2], proa.float32, [6.0, 8.0])
    >>> proa.Tensor([1, 2], "float64", stop_gradient=False).stop_gradient
    False
)";

}  // namespace

PyObject* WrapNew(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  TensorObject* self = free_objects;
  if (self != nullptr) [[likely]] {
    free_objects = reinterpret_cast<TensorObject*>(self->dict);
    --num_free;
    PyObject_Init(reinterpret_cast<PyObject*>(self), tensor_type);
  } else {
    self = PyObject_GC_New(TensorObject, tensor_type);
    if (self == nullptr) throw PythonError();
  }
  return Fill(self, std::move(t));
}

PyObject* WrapAs(PyTypeObject* type, Tensor t) {
  if (type == tensor_type) return Wrap(std::move(t));
  if (t.impl()->python_object != nullptr) t = t.Alias();
  PyObject* o = Check(type->tp_alloc(type, 0));
  return Fill(reinterpret_cast<TensorObject*>(o), std::move(t));
}

PyObject* WrapOneOfSeveral(Tensor t) {
  const bool recorded = t.defined() && autograd::RequiresGrad(t);
  PyObject* o = Wrap(std::move(t));
  if (recorded && o != nullptr)
    TrackForCollector(reinterpret_cast<TensorObject*>(o));
  return o;
}

PyObject* Wrap(std::vector<Tensor> ts) {
  Ref list = Ref::New(PyList_New(static_cast<Py_ssize_t>(ts.size())));
  for (size_t i = 0; i < ts.size(); ++i) {
    PyList_SET_ITEM(list.get(), i, Check(WrapOneOfSeveral(std::move(ts[i]))));
  }
  return list.release();
}

void TrackForCollector(TensorObject* self) {
  auto* o = reinterpret_cast<PyObject*>(self);
  if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

void MakeTensorType(PyObject* module) {
  // Read by the type as long as the process lives.
  auto* methods = new Methods;
  auto* properties = new Properties;
  Slots slots = {
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_new, reinterpret_cast<void*>(&New)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&Dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(&Traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(&Clear)},
      {Py_tp_setattro, reinterpret_cast<void*>(&SetAttribute)},
      {Py_tp_members, members},
      {Py_tp_repr, reinterpret_cast<void*>(&Repr)},
  };
  properties->push_back({"__dict__", &GetDict, &SetDict, nullptr, nullptr});
  AddProperties(properties);
  AddBasicMethods(methods);
  AddConversions(methods, &slots);
  AddArrayMethods(methods, &slots);
  AddDLPackMethods(methods);
  AddAutogradMethods(methods, properties);
  AddOperators(&slots);
  AddIndexing(&slots);
  AddSharingMethods(methods);
  AddPickling(methods);
  methods->push_back({nullptr, nullptr, 0, nullptr});
  properties->push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
  slots.push_back({Py_tp_methods, methods->data()});
  slots.push_back({Py_tp_getset, properties->data()});
  slots.push_back({0, nullptr});
  PyType_Spec spec = {
      "proa.Tensor", sizeof(TensorObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
      slots.data()};
  PyObject* type = Check(PyType_FromSpec(&spec));
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
  // NumPy leaves `array + tensor` to the reflected operator.
  const Ref priority = Ref::New(PyFloat_FromDouble(100.0));
  CheckStatus(
      PyObject_SetAttrString(type, "__array_priority__", priority.get()));
  AddGeneratedMethods(type);
  CheckStatus(PyModule_AddObjectRef(module, "Tensor", type));
}

}  // namespace proa::inline v0::python
