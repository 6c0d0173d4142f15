// Methods of Tensor about memory that tensors share, and about its version:
// what programs of Paddle find on a tensor beside its ops. None of them is
// recorded.
#include <Python.h>

#include <string>
#include <utility>

#include "autograd/grad_state.h"
#include "python/core/arguments.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::python {
namespace {

const Tensor& OtherTensor(const char* op, PyObject* o) {
  if (!IsTensor(o))
    ThrowTypeError(std::string(op) + ": expected a Tensor, got " + TypeName(o));
  return Unwrap(o);
}

PyObject* InplaceVersion(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLong(Unwrap(self).version());
}

PyObject* BumpVersion(PyObject* self, PyObject*) {
  const Tensor& t = Unwrap(self);
  if (t.storage()) {
    t.storage()->BumpVersion();
    t.storage()->set_last_writer("_bump_inplace_version");
  }
  Py_RETURN_NONE;
}

constexpr const char* reset_names[] = {"self", "set_to_zero"};
constinit Signature reset_signature("_reset_grad_inplace_version", reset_names,
                                    2, 1);

PyObject* ResetGradVersion(PyObject* self, PyObject* const* args,
                           Py_ssize_t nargs, PyObject* kwnames) {
  return Guarded([&]() -> PyObject* {
    PyObject* a[2];
    Bind(reset_signature, self, args, nargs, kwnames, a);
    const bool set_to_zero = !Given(a[1]) || ToBool(reset_signature, 1, a[1]);
    const Tensor grad = autograd::GetGrad(Unwrap(self));
    if (set_to_zero && grad.defined() && grad.storage())
      grad.storage()->ResetVersion();
    Py_RETURN_NONE;
  });
}

PyObject* GradName(PyObject* self, PyObject*) {
  const Ref name = Ref::New(PyObject_GetAttrString(self, "name"));
  if (name.get() == nullptr) return nullptr;
  return PyUnicode_FromFormat("%U@GRAD", name.get());
}

PyObject* GradValue(PyObject* self, PyObject*) {
  return Guarded([&] { return Wrap(autograd::GetGrad(Unwrap(self))); });
}

PyObject* IsInitialized(PyObject* self, PyObject*) {
  const Tensor& t = Unwrap(self);
  return PyBool_FromLong(t.is_symbolic() || t.storage() != nullptr);
}

PyObject* Offset(PyObject* self, PyObject*) {
  const Tensor& t = Unwrap(self);
  return PyLong_FromLongLong(t.storage_offset() * ItemSize(t.dtype()));
}

// `to` shows the memory of `from`, with its own shape.
void ShareMemory(const char* op, const Tensor& from, const Tensor& to) {
  PROA_REQUIRE(from.storage() && !to.is_symbolic(), op,
               ": both tensors need memory; x is ", Describe(from));
  PROA_REQUIRE(from.dtype() == to.dtype() && from.numel() == to.numel() &&
                   from.is_contiguous(),
               op,
               ": needs a contiguous x of the dtype and number of elements of "
               "the other; "
               "x is ",
               Describe(from), ", the other is ", Describe(to));
  TensorImpl& impl = *to.impl();
  impl.storage = from.storage();
  impl.data = from.impl()->data;
  impl.place = from.place();
  impl.layout = Layout::kStrided;
  impl.strides = ContiguousStrides(impl.shape);
  impl.contiguous = true;
  impl.is_view = false;
  impl.root = nullptr;
}

PyObject* ShareBufferTo(PyObject* self, PyObject* other) {
  return Guarded([&]() -> PyObject* {
    ShareMemory("_share_buffer_to", Unwrap(self),
                OtherTensor("_share_buffer_to", other));
    Py_RETURN_NONE;
  });
}

PyObject* IsSharedBufferWith(PyObject* self, PyObject* other) {
  return Guarded([&] {
    const Tensor& t = OtherTensor("_is_shared_buffer_with", other);
    return PyBool_FromLong(t.storage() &&
                           t.storage() == Unwrap(self).storage());
  });
}

constexpr const char* slice_names[] = {"self", "begin_idx", "end_idx"};
constinit Signature slice_signature("_slice", slice_names, 3, 3);

PyObject* Rows(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
               PyObject* kwnames) {
  return Guarded([&] {
    PyObject* a[3];
    Bind(slice_signature, self, args, nargs, kwnames, a);
    const int64_t begin = ToInt(slice_signature, 1, a[1]);
    const int64_t end = ToInt(slice_signature, 2, a[2]);
    const Tensor& t = Unwrap(self);
    PROA_REQUIRE(t.rank() > 0 && !t.is_symbolic() && 0 <= begin &&
                     begin <= end && end <= t.size(0),
                 "_slice: rows ", begin, " to ", end, " are not in x; x is ",
                 Describe(t));
    Shape shape = t.shape();
    shape[0] = end - begin;
    return Wrap(autograd::Detach(t.AsStrided(
        shape, t.strides(), shape.numel() == 0 ? 0 : begin * t.strides()[0])));
  });
}

}  // namespace

void AddSharingMethods(Methods* methods) {
  const auto fast = [](FastFunction f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
  };
  const PyMethodDef functions[] = {
      {"_inplace_version", &InplaceVersion, METH_NOARGS,
       "_inplace_version($self)\n--\n\nHow often the elements were changed in "
       "place."},
      {"_bump_inplace_version", &BumpVersion, METH_NOARGS,
       "_bump_inplace_version($self)\n--\n\nCounts a change in place that Proa "
       "did not see."},
      {"_reset_grad_inplace_version", fast(&ResetGradVersion),
       METH_FASTCALL | METH_KEYWORDS,
       "_reset_grad_inplace_version($self, set_to_zero=True)\n--\n\nMakes the "
       "version of `grad` 0, as if it had not been changed in place."},
      {"_grad_name", &GradName, METH_NOARGS,
       "_grad_name($self)\n--\n\nThe name of the gradient."},
      {"_grad_value", &GradValue, METH_NOARGS,
       "_grad_value($self)\n--\n\nThe gradient, or None."},
      {"_grad_ivar", &GradValue, METH_NOARGS,
       "_grad_ivar($self)\n--\n\nThe gradient, or None."},
      {"_is_initialized", &IsInitialized, METH_NOARGS,
       "_is_initialized($self)\n--\n\nTrue if there are elements, or will be "
       "when a program runs."},
      {"_offset", &Offset, METH_NOARGS,
       "_offset($self)\n--\n\nWhere the first element lies in the memory that "
       "views share, in bytes."},
      {"_slice", fast(&Rows), METH_FASTCALL | METH_KEYWORDS,
       "_slice($self, begin_idx, end_idx)\n--\n\nRows that share the memory, "
       "outside of the graph."},
      {"_share_buffer_to", &ShareBufferTo, METH_O,
       "_share_buffer_to($self, other)\n--\n\nLets `other` show the memory of "
       "this tensor, under its own shape."},
      {"_is_shared_buffer_with", &IsSharedBufferWith, METH_O,
       "_is_shared_buffer_with($self, other)\n--\n\nTrue if both lie in the "
       "same memory."},
      {"_share_underline_tensor_to", &ShareBufferTo, METH_O,
       "_share_underline_tensor_to($self, other)\n--\n\nLets `other` show the "
       "memory of this tensor, under its own shape."},
      {"_is_shared_underline_tensor_with", &IsSharedBufferWith, METH_O,
       "_is_shared_underline_tensor_with($self, other)\n--\n\nTrue if both lie "
       "in the same memory."},
  };
  methods->insert(methods->end(), std::begin(functions), std::end(functions));
}

}  // namespace proa::inline v0::python
