#include "python/core/to_tensor.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "ops/elementwise/cast_ops.h"
#include "ops/infer.h"
#include "ops/manipulation/join_ops.h"
#include "ops/manipulation/shape_ops.h"
#include "python/core/arguments.h"
#include "python/core/buffer.h"
#include "python/core/convert.h"
#include "python/core/dtype_object.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/numpy.h"
#include "python/core/place_object.h"
#include "python/core/symbolic.h"
#include "python/core/tensor_object.h"
#include "tensor/copy.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/interrupt.h"
#include "tensor/promotion.h"

namespace proa::inline v0::python {
namespace {

// From objects that are neither Tensor, number nor list: through their buffer,
// or that of the array that NumPy makes of them, in this machine's byte order.
Tensor FromArrayLike(PyObject* o) {
  if (std::optional<Tensor> t = CopyBuffer(o)) return *t;
  const Ref array = Ref::New(PyObject_CallOneArg(NumPy("asarray"), o));
  if (std::optional<Tensor> t = CopyBuffer(array.get())) return *t;
  const Ref dtype = Ref::New(PyObject_GetAttrString(array.get(), "dtype"));
  const Ref native =
      Ref::New(PyObject_CallMethod(dtype.get(), "newbyteorder", "s", "="));
  const Ref swapped =
      Ref::New(PyObject_CallMethod(array.get(), "astype", "O", native.get()));
  if (std::optional<Tensor> t = CopyBuffer(swapped.get())) return *t;
  ThrowTypeError("to_tensor: data of type " + TypeName(o) +
                 " holds no numbers");
}

[[noreturn]] void FailRange() {
  PyErr_Clear();
  ThrowPython(PyExc_OverflowError,
              "to_tensor: the range has numbers that do not fit in int64");
}

// A range, without a Python object for each element: it may be as long as
// memory is.
Tensor FromRange(PyObject* o, std::optional<DType> dtype) {
  int64_t parts[2];
  const char* names[] = {"start", "step"};
  for (int i = 0; i < 2; ++i) {
    const Ref part = Ref::New(PyObject_GetAttrString(o, names[i]));
    parts[i] = PyLong_AsLongLong(part.get());
    if (parts[i] == -1 && PyErr_Occurred() != nullptr) FailRange();
  }
  const Py_ssize_t n = PyObject_Size(o);
  if (n < 0) FailRange();
  const auto [start, step] = parts;
  int64_t last = 0;
  if (n > 0 && (__builtin_mul_overflow(n - 1, step, &last) ||
                __builtin_add_overflow(start, last, &last))) {
    FailRange();
  }
  const DType t = dtype   ? *dtype
                  : n > 0 ? DType::kInt64
                          : ops::infer::DefaultDType();
  Tensor out = Tensor::Empty({n}, t);
  WithoutGil(n, [&] {
    VisitDType(t, [&]<typename T>(TypeTag<T>) {
      T* to = out.data<T>();
      for (int64_t i = 0; i < n; ++i) {
        if ((i & 0xffff) == 0) CheckInterrupt();
        to[i] = Scalar(start + i * step).to<T>();
      }
    });
  });
  return out;
}

bool IsNested(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

// Nested lists, in two passes: Scan finds shape and dtype, Fill writes
// elements. With tensors of a program among them the second pass records
// instead, a `stack` for each list.
class Nested {
 public:
  Tensor Make(PyObject* o, std::optional<DType> dtype) {
    Scan(o, 0);
    const DType real = ops::infer::DefaultDType();
    DType t;
    if (dtype) {
      t = *dtype;
    } else if (found_array_) {
      t = kind_ == 0 ? array_dtype_ : PromoteScalar(array_dtype_, kind_, real);
    } else {
      t = kind_ == 0 ? real : DTypeOfScalar(kind_, real);
    }
    if (symbolic_) return Recorded(o, 0, t);
    Tensor out = Tensor::Empty(Shape(std::span<const int64_t>(sizes_)), t);
    if (out.numel() > 0) {
      VisitDType(t, [&]<typename T>(TypeTag<T>) {
        end_ = out.data<T>() + out.numel();
        Fill<T>(o, 0, out.data<T>());
      });
    }
    return out;
  }

 private:
  [[noreturn]] void FailRagged(int depth, int64_t expected, int64_t got) {
    FailArgument("to_tensor: the list is ragged: at depth ", depth,
                 " one part has ", expected, " elements and another ", got);
  }

  // Reading arrays runs code of others, which may change the list that they are
  // in.
  static Ref Item(PyObject* list, Py_ssize_t i) {
    PROA_REQUIRE(i < PySequence_Fast_GET_SIZE(list),
                 "to_tensor: the list changed while it was read");
    return Ref::Borrow(PySequence_Fast_GET_ITEM(list, i));
  }

  void Size(int depth, int64_t n) {
    PROA_REQUIRE(depth < kMaxRank, "to_tensor: lists are nested more than ",
                 kMaxRank, " deep");
    if (depth < static_cast<int>(sizes_.size())) {
      if (IsUnknown(sizes_[depth])) sizes_[depth] = n;
      if (sizes_[depth] != n && !IsUnknown(n)) {
        FailRagged(depth, sizes_[depth], n);
      }
    } else if (leaf_depth_ >= 0) {
      FailArgument(
          "to_tensor: the list is ragged: numbers and lists are mixed at "
          "depth ",
          depth - 1);
    } else {
      sizes_.push_back(n);
    }
  }

  void Leaf(int depth) {
    if (leaf_depth_ < 0) leaf_depth_ = depth;
    if (depth != leaf_depth_ || depth != static_cast<int>(sizes_.size())) {
      FailArgument(
          "to_tensor: the list is ragged: numbers and lists are mixed at "
          "depth ",
          depth - 1);
    }
  }

  void Scan(PyObject* o, int depth) {
    if (IsNested(o)) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      Size(depth, n);
      for (Py_ssize_t i = 0; i < n; ++i) Scan(Item(o, i).get(), depth + 1);
      // Below an empty list there is nothing that could fix further sizes.
      if (n == 0 && leaf_depth_ < 0) leaf_depth_ = depth + 1;
      return;
    }
    if (ScanNumber(o)) return Leaf(depth);
    if (!IsTensor(o) && !IsOpenSize(o) && !IsArrayLike(o) &&
        !PyRange_Check(o)) {
      ThrowTypeError("to_tensor: a list element of type " + TypeName(o) +
                     " is no number; elements are numbers, arrays, Tensors or "
                     "lists of them");
    }
    Tensor t =
        IsTensor(o) ? Unwrap(o) : ToTensor(o, std::nullopt, std::nullopt);
    symbolic_ |= t.is_symbolic();
    for (int i = 0; i < t.rank(); ++i) Size(depth + i, t.size(i));
    Leaf(depth + t.rank());
    array_dtype_ = found_array_ ? Promote(array_dtype_, t.dtype()) : t.dtype();
    found_array_ = true;
    arrays_.push_back(std::move(t));
  }

  bool ScanNumber(PyObject* o) {
    char kind;
    if (PyFloat_Check(o)) {
      kind = 'f';
    } else if (PyBool_Check(o)) {
      kind = 'b';
    } else if (PyLong_Check(o)) {
      kind = 'i';
    } else if (PyComplex_Check(o)) {
      kind = 'c';
    } else {
      return false;
    }
    if (kind_ == 0 || Order(kind) > Order(kind_)) kind_ = kind;
    return true;
  }

  static int Order(char kind) {
    return kind == 'b' ? 0 : kind == 'i' ? 1 : kind == 'f' ? 2 : 3;
  }

  template <typename T>
  T* Fill(PyObject* o, int depth, T* out) {
    if (IsNested(o)) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      PROA_REQUIRE(depth < leaf_depth_ && n == sizes_[depth],
                   "to_tensor: the list changed while it was read");
      for (Py_ssize_t i = 0; i < n; ++i)
        out = Fill<T>(Item(o, i).get(), depth + 1, out);
      return out;
    }
    CheckRoom(out, 1);
    if (PyFloat_Check(o)) {
      *out = Scalar(PyFloat_AS_DOUBLE(o)).to<T>();
      return out + 1;
    }
    if (PyLong_Check(o) || PyComplex_Check(o)) {
      *out = FindNumber(o)->to<T>();
      return out + 1;
    }
    // Now, also in static mode, which would record the cast.
    const InterpreterScope now = InterpreterScope::Forbid(kRecord);
    const Tensor t = Contiguous(Converted(NextArray(), kDTypeOf<T>, Place{}));
    CheckRoom(out, t.numel());
    if (t.numel() > 0) std::memcpy(out, t.raw_data(), t.bytes());
    return out + t.numel();
  }

  template <typename T>
  void CheckRoom(const T* out, int64_t n) {
    PROA_REQUIRE(static_cast<const T*>(end_) - out >= n,
                 "to_tensor: the list changed while it was read");
  }

  const Tensor& NextArray() {
    PROA_REQUIRE(next_array_ < arrays_.size(),
                 "to_tensor: the list changed while it was read");
    return arrays_[next_array_++];
  }

  // Without gradients, as elements are copied.
  Tensor Recorded(PyObject* o, int depth, DType dtype) {
    const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
    if (!IsNested(o)) {
      const bool number =
          PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o);
      return number ? NumberTensor(*FindNumber(o), dtype)
                    : Converted(NextArray(), dtype, Place{});
    }
    std::vector<Tensor> parts;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) {
      parts.push_back(Recorded(Item(o, i).get(), depth + 1, dtype));
    }
    if (!parts.empty()) return ops::stack(parts, 0);
    const std::span<const int64_t> sizes(sizes_);
    return Tensor::Empty(Shape(sizes.subspan(depth)), dtype);
  }

  bool symbolic_ = false;      // an element is a tensor of a program
  const void* end_ = nullptr;  // of the elements
  std::vector<int64_t> sizes_;
  int leaf_depth_ = -1;  // depth at which numbers stand
  char kind_ = 0;        // highest category of a Python number
  bool found_array_ = false;
  DType array_dtype_ = DType::kBool;
  std::vector<Tensor> arrays_;  // in the order of Scan
  size_t next_array_ = 0;
};

Tensor FromNumber(const Scalar& number, std::optional<DType> dtype) {
  return NumberTensor(
      number, dtype ? *dtype
                    : DTypeOfScalar(number.kind(), ops::infer::DefaultDType()));
}

Tensor OnHost(PyObject* o, std::optional<DType> dtype) {
  if (IsNested(o)) return Nested().Make(o, dtype);
  const bool python_number =
      PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o);
  if (python_number) return FromNumber(*FindNumber(o), dtype);
  if (o == Py_None || PyUnicode_Check(o) || PyBytes_Check(o)) {
    ThrowTypeError("to_tensor: data is " + TypeName(o) +
                   "; it is a number, a list, an array or a Tensor");
  }
  if (IsArrayLike(o) || PyObject_CheckBuffer(o)) return FromArrayLike(o);
  if (PyRange_Check(o)) return FromRange(o, dtype);
  if (PySequence_Check(o)) {
    const Ref list = Ref::New(PySequence_List(o));
    return Nested().Make(list.get(), dtype);
  }
  if (PyObject_HasAttrString(o, "__float__")) {
    const Ref f = Ref::New(PyNumber_Float(o));
    return FromNumber(*FindNumber(f.get()), dtype);
  }
  ThrowTypeError(
      "to_tensor: data of type " + TypeName(o) +
      " holds no numbers; it is a number, a list, an array or a Tensor");
}

}  // namespace

Tensor Converted(const Tensor& t, std::optional<DType> dtype,
                 std::optional<Place> place) {
  const InterpreterScope no_grad = InterpreterScope::Forbid(kDifferentiate);
  Tensor out = t;
  if (place && out.place() != *place) out = CopyTo(out, *place);
  if (dtype && out.dtype() != *dtype) out = ops::cast(out, *dtype);
  return out;
}

Tensor ToTensor(PyObject* o, std::optional<DType> dtype,
                std::optional<Place> place) {
  if (IsOpenSize(o)) return Converted(TensorOfSize(o), dtype, place);
  if (IsTensor(o)) {
    const Tensor& t = Unwrap(o);
    Tensor out = Converted(t, dtype, place);
    if (!out.is_same(t) && !out.is_view()) return out;
    // A copy of the data, of its dtype: autocast has nothing to do with it.
    const InterpreterScope plain =
        InterpreterScope::Forbid(kDifferentiate | kAutocast);
    return ops::assign(out);
  }
  const Tensor t = OnHost(o, dtype);
  return Converted(t, dtype, place ? *place : ops::infer::DefaultPlace());
}

Tensor ToTensor(PyObject* o, PyObject* dtype, PyObject* place) {
  std::optional<DType> t;
  if (dtype != Py_None) {
    t = FindDType(dtype);
    if (!t)
      ThrowTypeError("to_tensor: dtype " + TextOf(dtype) +
                     " is no element type");
  }
  std::optional<Place> p;
  if (place != Py_None) {
    p = FindPlace(place);
    if (!p)
      ThrowTypeError("to_tensor: place must be a place or its name, not " +
                     TypeName(place));
  }
  return ToTensor(o, t, p);
}

namespace {

constexpr const char* names[] = {"data", "dtype", "place", "stop_gradient"};
constinit Signature signature("to_tensor", names, 4, 1);

PyObject* Call(PyObject*, PyObject* const* args, Py_ssize_t nargs,
               PyObject* kwnames) {
  return Guarded([&] {
    PyObject* a[4];
    Bind(signature, nullptr, args, nargs, kwnames, a);
    const auto given = [&](int i) { return a[i] == nullptr ? Py_None : a[i]; };
    Tensor t = ToTensor(a[0], given(1), given(2));
    // While a program is recorded: a value of it like any other, made anew in
    // each run, so that what changes it in place changes this run's.
    if ((ActiveInterpreters(0) & kRecord) != 0 && !t.is_symbolic()) {
      const InterpreterScope no_cast = InterpreterScope::Forbid(kAutocast);
      t = ops::assign(t);
    }
    const Ref out = Ref::New(Wrap(std::move(t)));
    if (Given(a[3]) && !ToBool(signature, 3, a[3])) {
      CheckStatus(PyObject_SetAttrString(out.get(), "stop_gradient", Py_False));
    }
    return Py_NewRef(out.get());
  });
}

// For the package's functions that are written in Python: what the bindings say
// of an argument of an op.
PyObject* TensorArgument(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return Guarded([&] {
    if (nargs != 3) ThrowCallError("tensor_argument() takes 3 arguments");
    if (IsTensor(args[0])) return Py_NewRef(args[0]);
    if (IsArrayLike(args[0]))
      return Wrap(ToTensor(args[0], std::nullopt, std::nullopt));
    ThrowPython(PyExc_TypeError, TextOf(args[1]) + ": " + TextOf(args[2]) +
                                     " must be a Tensor or an array, not " +
                                     TypeName(args[0]));
  });
}

PyMethodDef functions[] = {
    {"tensor_argument",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&TensorArgument)),
     METH_FASTCALL,
     "tensor_argument(value, op, name)\n--\n\n"
     "`value` if it is a Tensor, a Tensor of an array; for anything else the "
     "error that names the\nargument."},
    {"to_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&Call)),
     METH_FASTCALL | METH_KEYWORDS,
     "to_tensor(data, dtype=None, place=None, stop_gradient=True)\n--\n\n"
     R"(A Tensor with a copy of the data.

Args:
    data (number|list|ndarray|Tensor): a number, nested lists of one shape, an array of any library that has
        __array__, __dlpack__ or the buffer protocol, or a Tensor.
    dtype (str|dtype, optional): that of the data unless given; floats of Python have the default dtype.
    place (Place|str, optional): the current device unless given.
    stop_gradient (bool): False if gradients are wanted.

Returns:
    Tensor: of the shape of the data.

Raises:
    ValueError: lists of unequal lengths, or a number that the dtype cannot hold.
    TypeError: data of another kind.

Examples:
    >>> proa.to_tensor([[1, 2], [3, 4]]).dtype, proa.to_tensor([1.0]).dtype, proa.to_tensor(2.5).shape
    (proa.int64, proa.float32, [])
    >>> x = proa.to_tensor(np.arange(3), dtype="float32", stop_gradient=False)
    >>> (x * x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 2.0, 4.0]
)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void BindToTensor(PyObject* module) {
  CheckStatus(PyModule_AddFunctions(module, functions));
}

}  // namespace proa::inline v0::python
