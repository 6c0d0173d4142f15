#include "python/core/op_method.h"

#include <structmember.h>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "python/core/error.h"

namespace proa::inline v0::python {
namespace {

PyTypeObject* op_method_type = nullptr;

struct OpMethod {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Binding* binding;
  PyObject* owner;  // borrowed
};

OpMethod* Self(PyObject* o) { return reinterpret_cast<OpMethod*>(o); }

PyObject* Call(PyObject* o, PyObject* const* args, size_t nargsf,
               PyObject* kwnames) {
  return Self(o)->binding->function(nullptr, args, PyVectorcall_NARGS(nargsf),
                                    kwnames);
}

PyObject* Get(PyObject* o, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(o);
  return PyMethod_New(o, instance);
}

PyObject* Repr(PyObject* o) {
  return PyUnicode_FromFormat("<method '%s' of 'proa.Tensor' objects>",
                              Self(o)->binding->name);
}

PyObject* Name(PyObject* o, void*) {
  return PyUnicode_FromString(Self(o)->binding->name);
}
PyObject* QualifiedName(PyObject* o, void*) {
  return PyUnicode_FromFormat("Tensor.%s", Self(o)->binding->name);
}
PyObject* Owner(PyObject* o, void*) { return Py_NewRef(Self(o)->owner); }

// The text signature ends where the documentation begins.
constexpr std::string_view kEnd = ")\n--\n\n";

PyObject* Doc(PyObject* o, void*) {
  const std::string_view text = Self(o)->binding->doc;
  const size_t end = text.find(kEnd);
  const std::string_view doc =
      end == text.npos ? text : text.substr(end + kEnd.size());
  return PyUnicode_FromStringAndSize(doc.data(),
                                     static_cast<Py_ssize_t>(doc.size()));
}

PyObject* TextSignature(PyObject* o, void*) {
  const std::string_view text = Self(o)->binding->doc;
  const size_t begin = std::strlen(Self(o)->binding->name);
  const std::string_view sig = text.substr(begin, text.find(kEnd) + 1 - begin);
  return PyUnicode_FromStringAndSize(sig.data(),
                                     static_cast<Py_ssize_t>(sig.size()));
}

// inspect reads text signatures of its own kinds of function only.
PyObject* SignatureObject(PyObject* o, void*) {
  return Guarded([&] {
    const Ref inspect = Ref::New(PyImport_ImportModule("inspect"));
    const Ref type =
        Ref::New(PyObject_GetAttrString(inspect.get(), "Signature"));
    const Ref text = Ref::New(TextSignature(o, nullptr));
    return Check(PyObject_CallMethod(inspect.get(), "_signature_fromstr", "OOO",
                                     type.get(), o, text.get()));
  });
}

// Pickled, and copied, as getattr(Tensor, name), which is the same object.
PyObject* Reduce(PyObject* o, PyObject*) {
  return Guarded([&] {
    const Ref getattr =
        Ref::New(PyObject_GetAttrString(PyEval_GetBuiltins(), "__getitem__"));
    const Ref function =
        Ref::New(PyObject_CallFunction(getattr.get(), "s", "getattr"));
    return Check(Py_BuildValue("O(Os)", function.get(), Self(o)->owner,
                               Self(o)->binding->name));
  });
}

PyGetSetDef properties[] = {
    {"__name__", &Name, nullptr, nullptr, nullptr},
    {"__qualname__", &QualifiedName, nullptr, nullptr, nullptr},
    {"__objclass__", &Owner, nullptr, nullptr, nullptr},
    {"__doc__", &Doc, nullptr, nullptr, nullptr},
    {"__text_signature__", &TextSignature, nullptr, nullptr, nullptr},
    {"__signature__", &SignatureObject, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"__reduce__", &Reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                          offsetof(OpMethod, vectorcall), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

void MakeType() {
  PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(&Get)},
      {Py_tp_repr, reinterpret_cast<void*>(&Repr)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {0, nullptr}};
  // As a method descriptor it is called with the tensor as first argument, and
  // no bound method is made.
  PyType_Spec spec = {"proa._C.OpMethod", sizeof(OpMethod), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_METHOD_DESCRIPTOR |
                          Py_TPFLAGS_HAVE_VECTORCALL,
                      slots};
  op_method_type =
      reinterpret_cast<PyTypeObject*>(Check(PyType_FromSpec(&spec)));
}

}  // namespace

PyObject* NewOpMethod(const Binding& binding, PyObject* owner) {
  if (op_method_type == nullptr) MakeType();
  PyObject* o = Check(op_method_type->tp_alloc(op_method_type, 0));
  Self(o)->vectorcall = &Call;
  Self(o)->binding = &binding;
  Self(o)->owner = owner;
  return o;
}

}  // namespace proa::inline v0::python
