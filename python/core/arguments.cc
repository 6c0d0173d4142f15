#include "python/core/arguments.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "python/core/error.h"

namespace proa::inline v0::python {
namespace {

// For x.reshape(3, 2), where a list is one argument.
std::string ListHint(PyObject* const* args, Py_ssize_t nargs) {
  std::string list;
  const Py_ssize_t first = nargs > 0 && !PyLong_CheckExact(args[0]) ? 1 : 0;
  if (nargs - first < 2) return "";
  for (Py_ssize_t i = first; i < nargs; ++i) {
    if (!PyLong_CheckExact(args[i])) return "";
    absl::StrAppend(&list, i == first ? "" : ", ", TextOf(args[i]));
  }
  return absl::StrCat("; a list is one argument: [", list, "]");
}

[[noreturn]] void FailCount(const Signature& s, PyObject* const* args,
                            Py_ssize_t nargs, Py_ssize_t given, bool method) {
  const int self = method ? 1 : 0;
  const std::string takes =
      s.num_required == s.num_params
          ? absl::StrCat(s.num_params - self)
          : absl::StrCat("from ", std::max(s.num_required - self, 0), " to ",
                         s.num_params - self);
  ThrowCallError(absl::StrCat(
      s.op, "() takes ", takes, " positional argument",
      s.num_params - self == 1 ? "" : "s", " but ", given - self,
      given - self == 1 ? " was given" : " were given", ListHint(args, nargs)));
}

[[noreturn]] void FailMissing(const Signature& s, PyObject* const* out) {
  std::string names;
  int count = 0;
  for (int i = 0; i < s.num_required; ++i) {
    if (out[i] != nullptr) continue;
    absl::StrAppend(&names, count++ == 0 ? "'" : ", '", s.names[i], "'");
  }
  ThrowCallError(absl::StrCat(s.op, "() missing ", count, " required argument",
                              count == 1 ? "" : "s", ": ", names));
}

}  // namespace

void Signature::Intern() {
  for (int i = 0; i < num_params; ++i) {
    interned_[i] = Check(PyUnicode_InternFromString(names[i]));
  }
}

int Signature::Find(PyObject* keyword) const {
  for (int i = 0; i < num_params; ++i) {
    if (interned_[i] == keyword) return i;
  }
  for (int i = 0; i < num_params; ++i) {
    if (PyUnicode_CompareWithASCIIString(keyword, names[i]) == 0) return i;
  }
  for (int i = 0; also != nullptr && i < num_params; ++i) {
    if (PyUnicode_CompareWithASCIIString(keyword, also[i]) == 0) return i;
  }
  return PyUnicode_CompareWithASCIIString(keyword, "name") == 0 ? num_params
                                                                : -1;
}

void BindSlow(const Signature& s, PyObject* self, PyObject* const* args,
              Py_ssize_t nargs, PyObject* kwnames, PyObject** out) {
  std::fill_n(out, s.num_params, nullptr);
  const Py_ssize_t first = self != nullptr ? 1 : 0;
  Py_ssize_t given = first + nargs;
  if (first != 0) out[0] = self;
  // One more may be `name`, given by position.
  if (given == s.num_params + 1 &&
      (args[nargs - 1] == Py_None || PyUnicode_Check(args[nargs - 1]))) {
    --given;
  }
  if (given > s.num_params) FailCount(s, args, nargs, given, first != 0);
  for (Py_ssize_t i = first; i < given; ++i) out[i] = args[i - first];
  const Py_ssize_t keywords =
      kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* keyword = PyTuple_GET_ITEM(kwnames, k);
    const int i = s.Find(keyword);
    if (i == s.num_params) continue;  // name=
    if (i < 0) {
      ThrowCallError(absl::StrCat(s.op,
                                  "() got an unexpected keyword argument '",
                                  TextOf(keyword), "'"));
    }
    if (out[i] != nullptr) {
      ThrowCallError(absl::StrCat(s.op, "() got multiple values for argument '",
                                  s.names[i], "'"));
    }
    out[i] = args[nargs + k];
  }
  for (int i = 0; i < s.num_required; ++i) {
    if (out[i] == nullptr) FailMissing(s, out);
  }
}

}  // namespace proa::inline v0::python
