// Tensors as NumPy arrays: numpy(), __array__ and the buffer protocol.
//
// A buffer shares the elements, for reading; a consumer that asks for a
// writable one may change them. bfloat16 has no buffer format: its arrays are
// float32 copies.
#include <Python.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "ops/elementwise/cast_ops.h"
#include "python/core/arguments.h"
#include "python/core/buffer.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/numpy.h"
#include "python/core/symbolic.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/shared_memory.h"

namespace proa::inline v0::python {
namespace {

// What a Py_buffer points to.
struct View {
  std::vector<Py_ssize_t> shape, strides;
};

// `t` in host memory, as something that has a buffer format; `t` itself if it
// is so.
Tensor HostTensor(const char* op, const Tensor& t) {
  Tensor out = Elements(op, t);
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  if (!out.place().is_cpu())
    out = WithoutGil(kWorthReleasing, [&] { return CopyTo(out, Place{}); });
  if (out.layout() != Layout::kStrided)
    out = WithoutGil(kWorthReleasing, [&] { return Contiguous(out); });
  if (out.dtype() == DType::kBFloat16) out = ops::cast(out, DType::kFloat32);
  return out;
}

int GetBuffer(PyObject* o, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return GuardedStatus([&] {
    const Tensor& t = Unwrap(o);
    const auto fail = [](const char* why) {
      ThrowPython(PyExc_BufferError, why);
    };
    const char* format = BufferFormat(t.dtype());
    if (t.is_symbolic()) fail("a tensor of a program has no elements");
    if (format == nullptr) fail("bfloat16 has no buffer format");
    if (!t.place().is_cpu())
      fail("the tensor does not lie in host memory; call cpu()");
    if (t.layout() != Layout::kStrided)
      fail("the tensor is not strided; make it dense first (Tensor.to_dense)");
    const bool writable = (flags & PyBUF_WRITABLE) != 0;
    if (writable && t.storage()->read_only()) fail("the tensor is read-only");
    const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!t.is_contiguous() &&
        (!strided || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
         (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS ||
         (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS)) {
      fail("the tensor is not contiguous");
    }
    const int64_t item = ItemSize(t.dtype());
    auto v = std::make_unique<View>();
    for (int i = 0; i < t.rank(); ++i) {
      v->shape.push_back(t.size(i));
      v->strides.push_back(t.strides()[i] * item);
    }
    static char empty;  // a buffer without elements has an address too
    view->buf = t.raw_data() != nullptr ? t.raw_data() : &empty;
    view->len = t.numel() * item;
    view->itemsize = item;
    view->readonly = writable ? 0 : 1;
    view->ndim = t.rank();
    view->format =
        (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) != 0 ? v->shape.data() : nullptr;
    view->strides = strided ? v->strides.data() : nullptr;
    view->suboffsets = nullptr;
    if (writable) {
      MarkShared(*t.storage());
      t.storage()->BumpVersion();
      t.storage()->set_last_writer("a writer through the buffer protocol");
    }
    view->internal = v.release();
    view->obj = Py_NewRef(o);
    return 0;
  });
}

void ReleaseBuffer(PyObject*, Py_buffer* view) {
  delete static_cast<View*>(view->internal);
}

// numpy.array(t, dtype, copy=...), of an object whose buffer can be taken.
PyObject* MakeArray(const Tensor& t, PyObject* dtype, bool copy) {
  const Ref source = Ref::New(Wrap(t));
  const Ref function = Ref::Borrow(NumPy(copy ? "array" : "asarray"));
  // From a memoryview, so that NumPy does not come back to __array__.
  const Ref view = Ref::New(PyMemoryView_FromObject(source.get()));
  return Check(
      PyObject_CallFunctionObjArgs(function.get(), view.get(), dtype, nullptr));
}

// NumPy's copy of an expanded view is larger than the tensor: what the tensors'
// own memory has no room for (the cap counts) is refused in the same words.
// Nothing is written to the memory that is asked for here.
void RequireRoom(const Tensor& t) {
  if (t.layout() != Layout::kStrided || t.storage() == nullptr) return;
  if (t.bytes() > t.storage()->bytes()) Tensor::Empty(t.shape(), t.dtype());
}

constexpr const char* numpy_names[] = {"self", "blocking"};
constinit Signature numpy_signature("numpy", numpy_names, 2, 1);

// The array is there when the call returns, whatever `blocking` says.
PyObject* ToNumPy(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                  PyObject* kwnames) {
  return Guarded([&] {
    PyObject* a[2];
    Bind(numpy_signature, self, args, nargs, kwnames, a);
    if (Given(a[1])) ToBool(numpy_signature, 1, a[1]);
    const Tensor& t = Unwrap(self);
    const Tensor host = HostTensor("numpy", t);
    RequireRoom(host);
    // Memory that nobody else sees needs no further copy, but the array must be
    // writable, which a buffer's is not.
    return MakeArray(host, nullptr, true);
  });
}

constexpr const char* array_names[] = {"self", "dtype", "copy"};
constinit Signature array_signature("__array__", array_names, 3, 1);

// copy=True: always; None: if need be; False: an error if need be (NumPy 2).
PyObject* Array(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                PyObject* kwnames) {
  return Guarded([&] {
    PyObject* a[3];
    Bind(array_signature, self, args, nargs, kwnames, a);
    PyObject* dtype = a[1] == Py_None ? nullptr : a[1];
    const Tensor& t = Unwrap(self);
    const Tensor host = HostTensor("__array__", t);
    const bool shares = host.is_same(t);
    const bool copy = Given(a[2]) && ToBool(array_signature, 2, a[2]);
    const bool never = Given(a[2]) && !copy;
    Ref out = Ref::New(MakeArray(host, dtype, copy));
    if (never) {
      const Ref plain = Ref::New(MakeArray(host, nullptr, false));
      const Ref same = Ref::New(PyObject_RichCompare(
          Ref::New(PyObject_GetAttrString(plain.get(), "dtype")).get(),
          Ref::New(PyObject_GetAttrString(out.get(), "dtype")).get(), Py_EQ));
      if (!shares || same.get() != Py_True) {
        FailArgument(
            "__array__: the elements cannot be given without a copy; x is ",
            Describe(t));
      }
    }
    return out.release();
  });
}

}  // namespace

void AddArrayMethods(Methods* methods, Slots* slots) {
  methods->push_back(
      {"numpy",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&ToNumPy)),
       METH_FASTCALL | METH_KEYWORDS,
       "numpy($self, blocking=True)\n--\n\nA NumPy array with a copy of the "
       "elements; of bfloat16 a float32 array. It is complete when the call "
       "returns, whatever `blocking` says."});
  methods->push_back(
      {"__array__",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&Array)),
       METH_FASTCALL | METH_KEYWORDS,
       "__array__($self, dtype=None, copy=None)\n--\n\nFor numpy.asarray."});
  slots->push_back({Py_bf_getbuffer, reinterpret_cast<void*>(&GetBuffer)});
  slots->push_back(
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&ReleaseBuffer)});
}

}  // namespace proa::inline v0::python
