// call_key: what a call of a recorded function is looked up by, in one object.
#include <Python.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "autograd/grad_state.h"
#include "ops/infer.h"
#include "python/core/module.h"
#include "python/core/tensor_object.h"
#include "tensor/interpreters.h"
#include "tensor/place.h"

namespace proa::inline v0::python {
namespace {

class Bytes {
 public:
  template <typename T>
  void Add(T value) {
    if (size_ + sizeof(T) > sizeof(data_)) {
      full_ = true;
      return;
    }
    std::memcpy(data_ + size_, &value, sizeof(T));
    size_ += sizeof(T);
  }
  bool full() const { return full_; }
  PyObject* Object() const { return PyBytes_FromStringAndSize(data_, size_); }

 private:
  char data_[512];
  Py_ssize_t size_ = 0;
  bool full_ = false;
};

void AddContext(Bytes* key) {
  const Place place = ops::infer::DefaultPlace();
  key->Add(static_cast<uint8_t>(GradEnabled()));
  key->Add(thread_interpreters.autocast);
  key->Add(ops::infer::DefaultDType());
  key->Add(place.kind);
  key->Add(place.index);
}

void AddTensor(PyObject* o, Bytes* key) {
  const Tensor& t = Unwrap(o);
  const bool asked = reinterpret_cast<TensorObject*>(o)->asked_for_grad;
  key->Add(t.dtype());
  key->Add(static_cast<uint8_t>(autograd::RequiresGrad(t) || asked));
  key->Add(static_cast<uint8_t>(t.rank()));
  for (const int64_t size : t.shape()) key->Add(size);
}

constexpr char kDoc[] =
    "call_key(args)\n--\n\n"
    "A key of a call with these tensors, by position, now: their dtypes, sizes "
    "and stop_gradient, and of this thread whether gradients are on, autocast, "
    "the default dtype and place. None where the call is no such one: in "
    "static mode, with an argument that is no tensor or a value of a program, "
    "and with very many.";

PyObject* CallKey(PyObject*, PyObject* args) {
  if (!PyTuple_Check(args) || (thread_interpreters.forced & kRecord) != 0) {
    Py_RETURN_NONE;
  }
  Bytes key;
  AddContext(&key);
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(args, i);
    if (!IsTensor(o)) Py_RETURN_NONE;
    const Tensor& t = Unwrap(o);
    if (!t.defined() || t.is_symbolic()) Py_RETURN_NONE;
    AddTensor(o, &key);
  }
  if (key.full()) Py_RETURN_NONE;
  return key.Object();
}

PyMethodDef functions[] = {{"call_key", &CallKey, METH_O, kDoc},
                           {nullptr, nullptr, 0, nullptr}};

const ModulePart part([](pybind11::module_& m) {
  CheckStatus(PyModule_AddFunctions(m.ptr(), functions));
});

}  // namespace
}  // namespace proa::inline v0::python
