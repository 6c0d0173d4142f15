// Arguments of a bound function from Python to C++, one function for each
// parameter type of the schema language (ops/schema/param_types.py). What does
// not fit is a TypeError that names the op, the parameter, what it takes and
// what was given.
#ifndef PROA_PYTHON_CORE_CONVERT_H_
#define PROA_PYTHON_CORE_CONVERT_H_

#include <Python.h>

#include <optional>
#include <string_view>
#include <vector>

#include "ops/int_array.h"
#include "python/core/arguments.h"
#include "python/core/tensor_object.h"
#include "tensor/dtype.h"
#include "tensor/place.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

// Numbers
// ----------------------------------------------------------------------

// Python's bool, int, float, complex and NumPy's scalars; nullopt for other
// types. Throws OverflowError for an int that int64 does not hold.
std::optional<Scalar> FindNumber(PyObject* o);
// The dtype of the 0-d tensor that stands for `number` beside a tensor of dtype
// `beside`: the tensor's, raised if the category of the number is higher
// (tensor/promotion.h), or if its value does not fit.
DType NumberDType(const Scalar& number, DType beside);
// A 0-d CPU tensor.
Tensor NumberTensor(const Scalar& number, DType dtype);

// True for NumPy arrays and what gives one, but not for str, bytes, lists,
// numbers.
bool IsArrayLike(PyObject* o);

// Arguments
// -------------------------------------------------------------------- `i` is
// the parameter and `o` the argument: given and, unless said otherwise, not
// None where the parameter has no `?`.

[[noreturn]] void FailType(const Signature& s, int i, const char* expected,
                           PyObject* got);

bool ToBool(const Signature& s, int i, PyObject* o);
int64_t ToInt(const Signature& s, int i, PyObject* o);
double ToFloat(const Signature& s, int i, PyObject* o);
std::string_view ToString(const Signature& s, int i,
                          PyObject* o);  // lives as `o` does
DimVector ToIntList(const Signature& s, int i,
                    PyObject* o);  // None is the empty list
std::vector<double> ToFloatList(const Signature& s, int i, PyObject* o);
IntArray ToIntArray(const Signature& s, int i, PyObject* o);
Scalar ToScalar(const Signature& s, int i, PyObject* o);
// The tensor that an attribute is, or that a list with such tensors makes, if
// only the run of a program knows its elements; undefined otherwise.
Tensor FindLate(const Signature& s, int i, PyObject* o);
DType ToDType(const Signature& s, int i, PyObject* o);
Place ToPlace(const Signature& s, int i, PyObject* o);
std::vector<Tensor> ToTensorList(const Signature& s, int i, PyObject* o);
// Arrays, and numbers where Signature::promotes says so; `a` are all arguments.
Tensor ToTensorArgument(const Signature& s, int i, PyObject* const* a);

// A Tensor argument: the handle inside the Python object, or a tensor made from
// what stands for one.
class TensorArg {
 public:
  TensorArg(const Signature& s, int i, PyObject* const* a) {
    if (IsExactTensor(a[i])) [[likely]] {
      tensor_ = &Unwrap(a[i]);
    } else {
      made_ = ToTensorArgument(s, i, a);
      tensor_ = &made_;
    }
  }
  TensorArg(const TensorArg&) = delete;
  TensorArg& operator=(const TensorArg&) = delete;
  const Tensor& get() const { return *tensor_; }

 protected:
  TensorArg() : tensor_(&made_) {}

 private:
  const Tensor* tensor_;
  Tensor made_;
};

// A `Tensor?` argument: undefined for None.
class OptionalTensorArg {
 public:
  OptionalTensorArg(const Signature& s, int i, PyObject* const* a) {
    if (a[i] != nullptr && a[i] != Py_None) arg_.emplace(s, i, a);
  }
  const Tensor& get() const { return arg_ ? arg_->get() : none_; }

 private:
  std::optional<TensorArg> arg_;
  Tensor none_;
};

// True if a value was given for a parameter that has a default; None asks for
// the default too.
inline bool Given(PyObject* o) { return o != nullptr && o != Py_None; }

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_CONVERT_H_
