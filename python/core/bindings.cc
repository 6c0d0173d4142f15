#include "python/core/bindings.h"

#include <vector>

#include "python/core/error.h"
#include "python/core/op_method.h"

namespace proa::inline v0::python {
namespace {

// The list that static objects fill before main.
std::vector<FamilyBindings>& Families() {
  static auto* families = new std::vector<FamilyBindings>;
  return *families;
}

PyMethodDef Definition(const Binding& b) {
  return {b.name,
          reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(b.function)),
          METH_FASTCALL | METH_KEYWORDS, b.doc};
}

}  // namespace

BindingRegistration::BindingRegistration(const FamilyBindings& bindings) {
  Families().push_back(bindings);
}

void PrepareBindings() {
  for (const FamilyBindings& family : Families()) {
    for (Signature* signature : family.signatures) signature->Intern();
    for (const UnaryBinding& b : family.unary) SetOperator(b.slot, b.function);
    for (const BinaryBinding& b : family.binary)
      SetOperator(b.slot, b.function);
  }
}

void AddGeneratedMethods(PyObject* type) {
  PyObject* own = reinterpret_cast<PyTypeObject*>(type)->tp_dict;
  for (const FamilyBindings& family : Families()) {
    for (const Binding& b : family.methods) {
      // What is written by hand goes before.
      if (PyDict_GetItemString(own, b.name) != nullptr) continue;
      const Ref method = Ref::New(NewOpMethod(b, type));
      CheckStatus(PyObject_SetAttrString(type, b.name, method.get()));
    }
  }
}

void AddOpFunctions(PyObject* module) {
  const Ref ops = Ref::New(PyModule_New("proa._C.ops"));
  const Ref name = Ref::New(PyUnicode_FromString("proa._C.ops"));
  auto* definitions =
      new std::vector<PyMethodDef>;  // read while the process lives
  for (const FamilyBindings& family : Families()) {
    for (const Binding& b : family.functions)
      definitions->push_back(Definition(b));
  }
  for (PyMethodDef& d : *definitions) {
    // Self is null, by which the C function knows that it is not a method.
    const Ref f = Ref::New(PyCFunction_NewEx(&d, nullptr, name.get()));
    CheckStatus(PyModule_AddObjectRef(ops.get(), d.ml_name, f.get()));
  }
  CheckStatus(PyModule_AddObjectRef(module, "ops", ops.get()));
  // `from proa._C.ops import add` works.
  CheckStatus(
      PyDict_SetItemString(PyImport_GetModuleDict(), "proa._C.ops", ops.get()));
}

}  // namespace proa::inline v0::python
