// Methods of Tensor that are no ops: what it is, where it lies, copies of it.
#include <Python.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "ops/creation/store_ops.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/front_door.h"
#include "ops/indexing/rows_ops.h"
#include "ops/int_array.h"
#include "ops/manipulation/view_ops.h"
#include "python/core/arguments.h"
#include "python/core/convert.h"
#include "python/core/dtype_object.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/place_object.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "python/core/to_tensor.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/memory_order.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::python {
namespace {

// Moving between places is differentiated here: no op does it, since an op
// works in one place.
Tensor MovedTo(const Tensor& t, Place place, bool blocking);

class MoveNode final : public autograd::Node {
 public:
  explicit MoveNode(Place from) : from_(from) {}
  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    if (needs_input_grad(0)) input_grads[0] = MovedTo(grads[0], from_, true);
  }
  const char* name() const override { return "to"; }

 private:
  Place from_;
};

Tensor MovedTo(const Tensor& t, Place place, bool blocking) {
  if (t.place() == place) return t;
  Tensor out = WithoutGil(0, [&] { return CopyTo(t, place, blocking); });
  if (autograd::RequiresGrad(t) && GradEnabled()) {
    auto node = autograd::MakeNode<MoveNode>(t.place());
    node->AddEdge(autograd::GradEdge(t));
    autograd::SetHistory(out, std::move(node), 0);
  }
  return out;
}

PyObject* Dim(PyObject* self, PyObject*) {
  return PyLong_FromLong(Unwrap(self).rank());
}
PyObject* GetElementSize(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(ItemSize(Unwrap(self).dtype()));
}
PyObject* DataPointer(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(Unwrap(self).raw_data());
}
PyObject* IsContiguousMethod(PyObject* self, PyObject*) {
  return PyBool_FromLong(Unwrap(self).is_contiguous());
}
PyObject* IsDense(PyObject* self, PyObject*) {
  return PyBool_FromLong(!IsRowSparse(Unwrap(self)));
}
PyObject* IsSelectedRows(PyObject* self, PyObject*) {
  return PyBool_FromLong(IsRowSparse(Unwrap(self)));
}
PyObject* IsFloating(PyObject* self, PyObject*) {
  return PyBool_FromLong(IsFloat(Unwrap(self).dtype()));
}
PyObject* IsComplexMethod(PyObject* self, PyObject*) {
  return PyBool_FromLong(IsComplex(Unwrap(self).dtype()));
}
PyObject* IsIntegerMethod(PyObject* self, PyObject*) {
  return PyBool_FromLong(IsInteger(Unwrap(self).dtype()));
}
PyObject* False(PyObject*, PyObject*) { Py_RETURN_FALSE; }
PyObject* Itself(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* ContiguousMethod(PyObject* self, PyObject*) {
  return Guarded([&]() -> PyObject* {
    const Tensor& t = Unwrap(self);
    if (t.is_contiguous() || t.is_symbolic()) return Py_NewRef(self);
    return Wrap(WithoutGil(Elements(t), [&] {
      if (IsRowSparse(t)) return ops::to_dense(t);
      // A copy of an image that lies channels-last would lie so, too.
      if (OrderOf(t) == MemoryOrder::kChannelsLast) {
        return ops::reshape(ops::reshape(t, {t.numel()}), t.shape());
      }
      return ops::assign(t);
    }));
  });
}

PyObject* Clone(PyObject* self, PyObject*) {
  return Guarded([&] {
    const Tensor& t = Unwrap(self);
    return Wrap(WithoutGil(Elements(t), [&] { return ops::assign(t); }));
  });
}

constexpr const char* cast_names[] = {"self", "dtype"};
constinit Signature cast_signature("astype", cast_names, 2, 2);

PyObject* AsType(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                 PyObject* kwnames) {
  return Guarded([&] {
    PyObject* a[2];
    Bind(cast_signature, self, args, nargs, kwnames, a);
    const DType dtype = ToDType(cast_signature, 1, a[1]);
    const Tensor& t = Unwrap(self);
    return Wrap(WithoutGil(Elements(t), [&] { return ops::cast(t, dtype); }));
  });
}

PyObject* Cpu(PyObject* self, PyObject*) {
  return Guarded([&] { return Wrap(MovedTo(Unwrap(self), Place{}, true)); });
}

constexpr const char* cuda_names[] = {"self", "device_id", "blocking"};
constinit Signature cuda_signature("cuda", cuda_names, 3, 1);

PyObject* Cuda(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
               PyObject* kwnames) {
  return Guarded([&] {
    PyObject* a[3];
    Bind(cuda_signature, self, args, nargs, kwnames, a);
    const int64_t index = Given(a[1]) ? ToInt(cuda_signature, 1, a[1]) : 0;
    const bool blocking = !Given(a[2]) || ToBool(cuda_signature, 2, a[2]);
    const Place place = ParsePlace(absl::StrCat("gpu:", index));
    return Wrap(MovedTo(Unwrap(self), place, blocking));
  });
}

constexpr const char* to_names[] = {"self", "device", "dtype", "blocking"};
constinit Signature to_signature("to", to_names, 4, 1);

// What an argument of `to` says: a place, a dtype, or a tensor to be like.
void ReadTarget(PyObject* o, int i, Place* place, DType* dtype) {
  if (IsTensor(o)) {
    *place = Unwrap(o).place();
    *dtype = Unwrap(o).dtype();
  } else if (const std::optional<DType> t = FindDType(o)) {
    *dtype = *t;
  } else {
    *place = ToPlace(to_signature, i, o);
  }
}

PyObject* To(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
             PyObject* kwnames) {
  return Guarded([&]() -> PyObject* {
    PyObject* a[4];
    Bind(to_signature, self, args, nargs, kwnames, a);
    const Tensor& t = Unwrap(self);
    Place place = t.place();
    DType dtype = t.dtype();
    for (const int i : {1, 2}) {
      if (Given(a[i]) && !PyBool_Check(a[i]))
        ReadTarget(a[i], i, &place, &dtype);
    }
    const bool blocking = !Given(a[3]) || ToBool(to_signature, 3, a[3]);
    Tensor out = t;
    if (dtype != t.dtype())
      out = WithoutGil(Elements(t), [&] { return ops::cast(t, dtype); });
    return Wrap(MovedTo(out, place, blocking));
  });
}

// Writes `value` into the elements of `t`, outside of any graph.
void WriteElements(const char* op, const Tensor& t, PyObject* value,
                   bool blocking) {
  Tensor source;
  if (IsTensor(value)) {
    source = Converted(Unwrap(value), t.dtype(), std::nullopt);
  } else {
    source = ToTensor(value, t.dtype(), t.place());
  }
  if (!ShapesFit(source.shape(), t.shape())) {
    PROA_REQUIRE(
        source.numel() == t.numel() && source.rank() <= 1 && t.rank() <= 1, op,
        ": the value does not have the shape of the tensor; x is ", Describe(t),
        ", value is ", Describe(source));
    source = Contiguous(source).AsStrided(t.shape(),
                                          ContiguousStrides(t.shape()), 0);
  }
  if (source.is_symbolic() &&
      !t.is_symbolic()) {  // happens when the program runs
    const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
    ops::store_(t, source);
    return;
  }
  if (t.is_symbolic()) {
    const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
    ops::RecordWrite(op, t, ops::assign(source));
    return;
  }
  WithoutGil(Elements(t), [&] {
    CopyInto(source, t, blocking);
    return 0;
  });
  t.storage()->BumpVersion();
  t.storage()->set_last_writer(op);
}

PyObject* SetValue(PyObject* self, PyObject* value) {
  return Guarded([&]() -> PyObject* {
    WriteElements("set_value", Unwrap(self), value, true);
    Py_RETURN_NONE;
  });
}

constexpr const char* copy_names[] = {"self", "other", "blocking"};
constinit Signature copy_signature("copy_", copy_names, 3, 2);

PyObject* CopyMethod(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                     PyObject* kwnames) {
  return Guarded([&] {
    PyObject* a[3];
    Bind(copy_signature, self, args, nargs, kwnames, a);
    const bool blocking = !Given(a[2]) || ToBool(copy_signature, 2, a[2]);
    WriteElements("copy_", Unwrap(self), a[1], blocking);
    return Py_NewRef(self);
  });
}

}  // namespace

void AddBasicMethods(Methods* methods) {
  const auto fast = [](FastFunction f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
  };
  const PyMethodDef functions[] = {
      {"dim", &Dim, METH_NOARGS, "dim($self)\n--\n\nNumber of dims."},
      {"ndimension", &Dim, METH_NOARGS,
       "ndimension($self)\n--\n\nNumber of dims."},
      {"element_size", &GetElementSize, METH_NOARGS,
       "element_size($self)\n--\n\nBytes of an element."},
      {"data_ptr", &DataPointer, METH_NOARGS,
       "data_ptr($self)\n--\n\nAddress of the first element; 0 if there is "
       "none."},
      {"is_contiguous", &IsContiguousMethod, METH_NOARGS,
       "is_contiguous($self)\n--\n\nTrue if the elements lie one after the "
       "other, in row-major order."},
      {"is_floating_point", &IsFloating, METH_NOARGS,
       "is_floating_point($self)\n--\n\nTrue for float16, bfloat16, float32 "
       "and float64."},
      {"is_complex", &IsComplexMethod, METH_NOARGS,
       "is_complex($self)\n--\n\nTrue for complex64 and complex128."},
      {"is_integer", &IsIntegerMethod, METH_NOARGS,
       "is_integer($self)\n--\n\nTrue for integers; bool is none."},
      {"is_dense", &IsDense, METH_NOARGS,
       "is_dense($self)\n--\n\nTrue unless the tensor is row-sparse."},
      {"is_selected_rows", &IsSelectedRows, METH_NOARGS,
       "is_selected_rows($self)\n--\n\nTrue if only some rows are held "
       "(rows(), values()), all others being zeros: so is "
       "the gradient of a table that was looked up with sparse=True."},
      {"is_sparse", &False, METH_NOARGS, "is_sparse($self)\n--\n\nFalse."},
      {"is_dist", &False, METH_NOARGS, "is_dist($self)\n--\n\nFalse."},
      {"value", &Itself, METH_NOARGS, "value($self)\n--\n\nThe tensor itself."},
      {"get_tensor", &Itself, METH_NOARGS,
       "get_tensor($self)\n--\n\nThe tensor itself."},
      {"pin_memory", &Itself, METH_NOARGS,
       "pin_memory($self)\n--\n\nThe tensor itself."},
      {"contiguous", &ContiguousMethod, METH_NOARGS,
       "contiguous($self)\n--\n\nThe tensor itself if it is contiguous, else a "
       "contiguous copy."},
      {"clone", &Clone, METH_NOARGS,
       "clone($self)\n--\n\nA copy through which gradients flow."},
      {"cpu", &Cpu, METH_NOARGS,
       "cpu($self)\n--\n\nThe tensor in host memory."},
      {"cuda", fast(&Cuda), METH_FASTCALL | METH_KEYWORDS,
       "cuda($self, device_id=None, blocking=True)\n--\n\nThe tensor on a "
       "GPU."},
      {"to", fast(&To), METH_FASTCALL | METH_KEYWORDS,
       "to($self, device=None, dtype=None, blocking=True)\n--\n\nThe tensor on "
       "another device or as another dtype; `device` may also be a dtype, or a "
       "Tensor to be like."},
      {"astype", fast(&AsType), METH_FASTCALL | METH_KEYWORDS,
       "astype($self, dtype)\n--\n\nThe elements as another dtype."},
      {"cast", fast(&AsType), METH_FASTCALL | METH_KEYWORDS,
       "cast($self, dtype)\n--\n\nThe elements as another dtype."},
      {"set_value", &SetValue, METH_O,
       "set_value($self, value)\n--\n\nWrites the elements of a tensor or "
       "array of the same shape into this one; not recorded."},
      {"copy_", fast(&CopyMethod), METH_FASTCALL | METH_KEYWORDS,
       "copy_($self, other, blocking=True)\n--\n\nWrites the elements of "
       "`other` into this tensor; not recorded."},
  };
  methods->insert(methods->end(), std::begin(functions), std::end(functions));
}

}  // namespace proa::inline v0::python
