#include "python/core/dtype_object.h"

#include <string>
#include <string_view>

#include "python/core/error.h"

namespace proa::inline v0::python {
namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
  PyObject* name;  // "float32"
};

PyTypeObject* dtype_type = nullptr;
PyObject* objects[kNumDTypes] = {};

DTypeObject* Self(PyObject* o) { return reinterpret_cast<DTypeObject*>(o); }

PyObject* New(PyTypeObject*, PyObject* args, PyObject*) {
  return Guarded([&]() -> PyObject* {
    PyObject* value;
    CheckStatus(PyArg_ParseTuple(args, "O:DType", &value) ? 0 : -1);
    const std::optional<DType> t = FindDType(value);
    if (!t) {
      ThrowPython(PyExc_TypeError,
                  "DType: " + TextOf(value) + " is not an element type");
    }
    return WrapDType(*t);
  });
}

PyObject* Repr(PyObject* o) {
  return PyUnicode_FromFormat("proa.%U", Self(o)->name);
}

Py_hash_t Hash(PyObject* o) { return PyObject_Hash(Self(o)->name); }

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool equal = a == b;
  if (!equal && Py_TYPE(b) != dtype_type) {
    const std::optional<DType> t = FindDType(b);
    if (!t && !PyUnicode_Check(b) && b != Py_None) Py_RETURN_NOTIMPLEMENTED;
    equal = t == Self(a)->dtype;
  }
  return PyBool_FromLong(equal == (op == Py_EQ));
}

PyObject* GetName(PyObject* o, void*) { return Py_NewRef(Self(o)->name); }
PyObject* GetItemSize(PyObject* o, void*) {
  return PyLong_FromLongLong(ItemSize(Self(o)->dtype));
}
PyObject* IsFloating(PyObject* o, void*) {
  return PyBool_FromLong(IsFloat(Self(o)->dtype));
}
PyObject* IsComplexType(PyObject* o, void*) {
  return PyBool_FromLong(IsComplex(Self(o)->dtype));
}
PyObject* IsIntegerType(PyObject* o, void*) {
  return PyBool_FromLong(IsInteger(Self(o)->dtype));
}

PyGetSetDef properties[] = {
    {"name", GetName, nullptr, "'float32'", nullptr},
    {"itemsize", GetItemSize, nullptr, "bytes of an element", nullptr},
    {"is_floating_point", IsFloating, nullptr, nullptr, nullptr},
    {"is_complex", IsComplexType, nullptr, nullptr, nullptr},
    {"is_integer", IsIntegerType, nullptr, "integers without bool", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// Pickled, and copied, as DType("float32"), which is the same object.
PyObject* Reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("O(O)", dtype_type, Self(o)->name);
}

PyMethodDef methods[] = {{"__reduce__", Reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

// What C, NumPy and other frameworks call element types, beside their names.
struct Alias {
  std::string_view name;
  DType dtype;
};
constexpr Alias kAliases[] = {
    {"int", DType::kInt64},          {"long", DType::kInt64},
    {"longlong", DType::kInt64},     {"intp", DType::kInt64},
    {"intc", DType::kInt32},         {"short", DType::kInt16},
    {"byte", DType::kInt8},          {"ubyte", DType::kUInt8},
    {"half", DType::kFloat16},       {"single", DType::kFloat32},
    {"float", DType::kFloat64},      {"double", DType::kFloat64},
    {"csingle", DType::kComplex64},  {"complex", DType::kComplex128},
    {"cdouble", DType::kComplex128}, {"bool_", DType::kBool},
};

std::optional<DType> FromName(PyObject* o) {
  Py_ssize_t size;
  const char* utf8 = PyUnicode_AsUTF8AndSize(o, &size);
  if (utf8 == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  std::string_view name(utf8, size);
  name.remove_prefix(name.rfind('.') + 1);  // "paddle.float32"; 0 without
  if (const std::optional<DType> t = ParseDType(name)) return t;
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.dtype;
  }
  return std::nullopt;
}

// numpy.dtype has a name; numpy.float32 and its like name themselves.
std::optional<DType> FromNumPy(PyObject* o) {
  const bool is_class = PyType_Check(o);
  const char* module = is_class ? reinterpret_cast<PyTypeObject*>(o)->tp_name
                                : Py_TYPE(o)->tp_name;
  const std::string_view text(module);
  if (!text.starts_with("numpy.") && !text.starts_with("ml_dtypes.")) {
    return std::nullopt;
  }
  const Ref name =
      Ref::NewOrNull(PyObject_GetAttrString(o, is_class ? "__name__" : "name"));
  if (!name || !PyUnicode_Check(name.get())) {
    PyErr_Clear();
    return std::nullopt;
  }
  return FromName(name.get());
}

}  // namespace

PyObject* WrapDType(DType t) { return Py_NewRef(objects[static_cast<int>(t)]); }

std::optional<DType> FindDType(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return Self(o)->dtype;
  if (PyUnicode_Check(o)) return FromName(o);
  // As NumPy takes them: Python's numbers have 64 bits.
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::kFloat64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::kInt64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::kBool;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type))
    return DType::kComplex128;
  return FromNumPy(o);
}

void MakeDTypeType(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("DType(name)\n--\n\n"
                                    R"(An element type of tensors.

Examples:
    >>> proa.dtype("float32") == proa.float32, proa.ones([2]).dtype == "float32", proa.int64.name
    (True, True, 'int64')
)")},
      {Py_tp_new, reinterpret_cast<void*>(&New)},
      {Py_tp_repr, reinterpret_cast<void*>(&Repr)},
      {Py_tp_hash, reinterpret_cast<void*>(&Hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(&Compare)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec = {"proa._C.DType", sizeof(DTypeObject), 0,
                      Py_TPFLAGS_DEFAULT, slots};
  PyObject* type = Check(PyType_FromSpec(&spec));
  dtype_type = reinterpret_cast<PyTypeObject*>(type);
  CheckStatus(PyModule_AddObjectRef(module, "DType", type));
  for (int i = 0; i < kNumDTypes; ++i) {
    PyObject* o = Check(dtype_type->tp_alloc(dtype_type, 0));
    Self(o)->dtype = static_cast<DType>(i);
    Self(o)->name =
        Check(PyUnicode_InternFromString(kDTypeInfo[i].name.data()));
    objects[i] = o;  // never freed
    CheckStatus(PyModule_AddObjectRef(module, kDTypeInfo[i].name.data(), o));
  }
}

}  // namespace proa::inline v0::python
