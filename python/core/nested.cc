#include "python/core/nested.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "python/core/tensor_object.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

// Against a list that contains itself.
class Recursion {
 public:
  Recursion() {
    CheckStatus(Py_EnterRecursiveCall(" in nested tensors") == 0 ? 0 : -1);
  }
  ~Recursion() {
    BeforeGivingBack();
    Py_LeaveRecursiveCall();
  }
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;
};

// Items of a list or tuple; a copy, since Python code may run in between.
Ref Items(PyObject* o) { return Ref::New(PySequence_Tuple(o)); }

int64_t CountOf(PyObject* pattern) {
  if (PyLong_CheckExact(pattern)) return 1;
  int64_t n = 0;
  if (PyTuple_CheckExact(pattern)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pattern); ++i) {
      n += CountOf(PyTuple_GET_ITEM(pattern, i));
    }
  } else if (PyDict_CheckExact(pattern)) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(pattern, &at, &key, &value);)
      n += CountOf(value);
  }
  return n;
}

[[noreturn]] void FailMatch(const char* what, PyObject* o,
                            const std::string& expected) {
  ThrowTypeError(
      absl::StrCat(what, " must be ", expected, ", not ", TypeName(o)));
}

void MatchSequence(PyObject* pattern, PyObject* o, const char* what,
                   std::span<Tensor> out) {
  if (!PyTuple_Check(o) && !PyList_Check(o))
    FailMatch(what, o, "a list or tuple, or None");
  const Ref items = Items(o);
  const Py_ssize_t given = PyTuple_GET_SIZE(items.get());
  const Py_ssize_t places = PyTuple_GET_SIZE(pattern);
  Py_ssize_t with_tensors = 0;
  for (Py_ssize_t i = 0; i < places; ++i) {
    with_tensors += CountOf(PyTuple_GET_ITEM(pattern, i)) > 0;
  }
  PROA_REQUIRE(given == places || given == with_tensors, what, " has ", given,
               " items, the forward had ", with_tensors, " with tensors there");
  for (Py_ssize_t i = 0, k = 0; i < places; ++i) {
    PyObject* place = PyTuple_GET_ITEM(pattern, i);
    if (given != places && CountOf(place) == 0) continue;
    MatchPattern(place, PyTuple_GET_ITEM(items.get(), k++), what, out);
  }
}

void MatchDict(PyObject* pattern, PyObject* o, const char* what,
               std::span<Tensor> out) {
  if (!PyDict_Check(o)) FailMatch(what, o, "a dict, or None");
  PyObject *key, *place;
  for (Py_ssize_t at = 0; PyDict_Next(pattern, &at, &key, &place);) {
    const Ref item = Ref::Borrow(PyDict_GetItemWithError(o, key));
    if (!item && PyErr_Occurred() != nullptr) throw PythonError();
    if (item) MatchPattern(place, item.get(), what, out);
  }
}

Ref ReplaceInSequence(PyObject* o, const Tensor*& next) {
  const Ref items = Items(o);
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  Ref made = Ref::New(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyTuple_SET_ITEM(
        made.get(), i,
        ReplaceTensors(PyTuple_GET_ITEM(items.get(), i), next).release());
  }
  if (PyTuple_CheckExact(o)) return made;
  if (PyList_CheckExact(o)) return Ref::New(PySequence_List(made.get()));
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  if (PyObject_HasAttrString(o, "_fields"))
    return Ref::New(PyObject_CallObject(type, made.get()));
  return Ref::New(PyObject_CallOneArg(type, made.get()));
}

Ref ReplaceInDict(PyObject* o, const Tensor*& next) {
  const Ref made = Ref::New(PyObject_CallMethod(o, "copy", nullptr));
  const Ref keys = Ref::New(PySequence_Tuple(o));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    const Ref item = Ref::New(PyObject_GetItem(o, key));
    CheckStatus(PyObject_SetItem(made.get(), key,
                                 ReplaceTensors(item.get(), next).get()));
  }
  return made;
}

}  // namespace

Ref TakeTensors(PyObject* o, std::vector<Tensor>& tensors) {
  if (IsTensor(o)) {
    tensors.push_back(Unwrap(o));
    return Ref::New(PyLong_FromSize_t(tensors.size() - 1));
  }
  if (!IsNesting(o)) return Ref::Borrow(Py_None);
  const Recursion guard;
  if (!PyDict_Check(o)) {
    const Ref items = Items(o);
    const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
    Ref pattern = Ref::New(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyTuple_SET_ITEM(
          pattern.get(), i,
          TakeTensors(PyTuple_GET_ITEM(items.get(), i), tensors).release());
    }
    return pattern;
  }
  Ref pattern = Ref::New(PyDict_New());
  const Ref keys = Ref::New(PySequence_Tuple(o));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    const Ref item = Ref::New(PyObject_GetItem(o, key));
    CheckStatus(PyDict_SetItem(pattern.get(), key,
                               TakeTensors(item.get(), tensors).get()));
  }
  return pattern;
}

Ref FillPattern(PyObject* pattern, std::span<const Tensor> tensors) {
  if (PyLong_CheckExact(pattern))
    return Ref::New(Wrap(tensors[PyLong_AsSize_t(pattern)]));
  if (PyTuple_CheckExact(pattern)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(pattern);
    Ref out = Ref::New(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyTuple_SET_ITEM(
          out.get(), i,
          FillPattern(PyTuple_GET_ITEM(pattern, i), tensors).release());
    }
    return out;
  }
  if (!PyDict_CheckExact(pattern)) return Ref::Borrow(Py_None);
  Ref out = Ref::New(PyDict_New());
  PyObject *key, *place;
  for (Py_ssize_t at = 0; PyDict_Next(pattern, &at, &key, &place);) {
    CheckStatus(
        PyDict_SetItem(out.get(), key, FillPattern(place, tensors).get()));
  }
  return out;
}

Ref ReplaceTensors(PyObject* o, const Tensor*& next) {
  if (IsTensor(o)) return Ref::New(Wrap(*next++));
  if (PyDict_Check(o)) return ReplaceInDict(o, next);
  return IsNesting(o) ? ReplaceInSequence(o, next) : Ref::Borrow(o);
}

void MatchPattern(PyObject* pattern, PyObject* o, const char* what,
                  std::span<Tensor> out) {
  if (o == Py_None) return;
  if (PyLong_CheckExact(pattern)) {
    if (!IsTensor(o)) FailMatch(what, o, "a Tensor or None");
    out[PyLong_AsSize_t(pattern)] = Unwrap(o);
  } else if (PyTuple_CheckExact(pattern)) {
    MatchSequence(pattern, o, what, out);
  } else if (PyDict_CheckExact(pattern)) {
    MatchDict(pattern, o, what, out);
  } else {
    FailMatch(what, o, "None where the forward had no tensor");
  }
}

}  // namespace proa::inline v0::python
