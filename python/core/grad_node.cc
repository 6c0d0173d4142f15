#include "python/core/grad_node.h"

#include <structmember.h>
#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "python/core/error.h"
#include "python/core/py_layer.h"
#include "python/core/tensor_hooks.h"

namespace proa::inline v0::python {
namespace {

using autograd::Node;

struct GradNodeObject {
  PyObject_HEAD IntrusivePtr<Node> node;
  PyObject* weakrefs;
};

PyTypeObject* grad_node_type = nullptr;

GradNodeObject* Self(PyObject* o) {
  return reinterpret_cast<GradNodeObject*>(o);
}
Node& NodeOf(PyObject* o) { return *Self(o)->node; }

int Traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  if (!Self(o)->node) return 0;
  Py_VISIT(ContextOfNode(NodeOf(o)));
  return TraverseHooks(NodeOf(o), visit, arg);
}

int Clear(PyObject* o) {
  if (Self(o)->node) ClearHooks(NodeOf(o));
  return 0;
}

void Dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (Self(o)->weakrefs != nullptr) PyObject_ClearWeakRefs(o);
  Self(o)->node.~IntrusivePtr<Node>();
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* Repr(PyObject* o) {
  return PyUnicode_FromFormat("<GradNode %s>", NodeOf(o).name());
}

Py_hash_t Hash(PyObject* o) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(&NodeOf(o)) >> 4);
}

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(b) != grad_node_type)
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((Self(a)->node == Self(b)->node) == (op == Py_EQ));
}

PyObject* Name(PyObject* o, PyObject*) {
  return PyUnicode_FromString(NodeOf(o).name());
}

PyObject* NextFunctions(PyObject* o, void*) {
  return Guarded([&] {
    const std::span<const autograd::Edge> edges =
        std::as_const(NodeOf(o)).edges();
    Ref out = Ref::New(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (size_t i = 0; i < edges.size(); ++i) {
      Ref node = Ref::New(WrapNode(edges[i].node));
      PyTuple_SET_ITEM(
          out.get(), i,
          Check(Py_BuildValue("(NI)", node.release(), edges[i].slot)));
    }
    return out.release();
  });
}

PyObject* InputNames(PyObject* o, void*) {
  return Guarded([&] {
    const auto n = static_cast<int>(NodeOf(o).edges().size());
    Ref out = Ref::New(PyTuple_New(n));
    for (int i = 0; i < n; ++i) {
      const std::string name = NodeOf(o).InputName(i);
      PyTuple_SET_ITEM(out.get(), i, Check(PyUnicode_FromString(name.c_str())));
    }
    return out.release();
  });
}

PyObject* ForwardPlace(PyObject* o, void*) {
  return Guarded(
      [&] { return PyUnicode_FromString(NodeOf(o).ForwardPlace().c_str()); });
}

PyObject* RegisterPreHook(PyObject* o, PyObject* hook) {
  return Guarded([&] {
    return AddPythonPreHook("register_prehook", NodeOf(o), hook)
        .release()
        .ptr();
  });
}

PyObject* RegisterHook(PyObject* o, PyObject* hook) {
  return Guarded([&] {
    return AddPythonPostHook("register_hook", NodeOf(o), hook).release().ptr();
  });
}

PyMethodDef methods[] = {{"name", &Name, METH_NOARGS,
                          "name($self)\n--\n\nThe op that recorded the node."},
                         {"register_prehook", &RegisterPreHook, METH_O,
                          "register_prehook($self, hook)\n--\n\n"
                          "Calls hook(grads) before the node's formula runs, "
                          "with a tuple of the gradients of "
                          "the outputs, None where none came. A tuple that it "
                          "returns replaces them. The result "
                          "has remove()."},
                         {"register_hook", &RegisterHook, METH_O,
                          "register_hook($self, hook)\n--\n\n"
                          "Calls hook(input_grads, grads) after the node's "
                          "formula has run. A tuple that it "
                          "returns replaces input_grads. At a leaf both are "
                          "empty. The result has remove()."},
                         {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"next_functions", &NextFunctions, nullptr,
     "For each input, in order, the node that its gradient goes to (None if it "
     "needs none) "
     "and which of that node's outputs the input is.",
     nullptr},
    {"input_names", &InputNames, nullptr,
     "What the op calls its inputs; '' if it does not say.", nullptr},
    {"forward_place", &ForwardPlace, nullptr,
     "Where the op was called, if anomaly mode was on then; else ''.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(GradNodeObject, weakrefs),
     READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyObject* New(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "GradNode: ops make these; see Tensor.grad_fn");
  return nullptr;
}

}  // namespace

PyObject* WrapNode(IntrusivePtr<Node> node) {
  if (!node) Py_RETURN_NONE;
  PyObject* o = Check(grad_node_type->tp_alloc(grad_node_type, 0));
  new (&Self(o)->node) IntrusivePtr<Node>(std::move(node));
  return o;
}

void MakeGradNodeType(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "A node of the backward graph, as Tensor.grad_fn gives it.")},
      {Py_tp_new, reinterpret_cast<void*>(&New)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&Dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(&Traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(&Clear)},
      {Py_tp_repr, reinterpret_cast<void*>(&Repr)},
      {Py_tp_hash, reinterpret_cast<void*>(&Hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(&Compare)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {Py_tp_members, members},
      {0, nullptr}};
  PyType_Spec spec = {"proa.GradNode", sizeof(GradNodeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = Check(PyType_FromSpec(&spec));
  grad_node_type = reinterpret_cast<PyTypeObject*>(type);
  CheckStatus(PyModule_AddObjectRef(module, "GradNode", type));
}

}  // namespace proa::inline v0::python
