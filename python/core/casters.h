// Tensor in the signatures of functions bound by pybind11: a Tensor object, or
// None for an undefined one.
#ifndef PROA_PYTHON_CORE_CASTERS_H_
#define PROA_PYTHON_CORE_CASTERS_H_

#include "pybind11/stl.h"
#include "python/core/dtype_object.h"
#include "python/core/error.h"
#include "python/core/place_object.h"
#include "python/core/pybind.h"
#include "python/core/tensor_object.h"

namespace pybind11::detail {

template <>
struct type_caster<::proa::Tensor> {
  PYBIND11_TYPE_CASTER(::proa::Tensor, const_name("Tensor"));

  bool load(handle source, bool) {
    if (source.is_none()) return true;
    if (!::proa::python::IsTensor(source.ptr())) return false;
    value = ::proa::python::Unwrap(source.ptr());
    return true;
  }
  static handle cast(const ::proa::Tensor& t, return_value_policy, handle) {
    try {
      return ::proa::python::Wrap(t);
    } catch (const ::proa::python::PythonError&) {
      throw error_already_set();
    }
  }
};

template <>
struct type_caster<::proa::DType> {
  PYBIND11_TYPE_CASTER(::proa::DType, const_name("DType"));

  bool load(handle source, bool) {
    const auto found = ::proa::python::FindDType(source.ptr());
    if (found) value = *found;
    return found.has_value();
  }
  static handle cast(::proa::DType t, return_value_policy, handle) {
    return ::proa::python::WrapDType(t);
  }
};

template <>
struct type_caster<::proa::Place> {
  PYBIND11_TYPE_CASTER(::proa::Place, const_name("Place"));

  bool load(handle source, bool) {
    const auto found = ::proa::python::FindPlace(source.ptr());
    if (found) value = *found;
    return found.has_value();
  }
  static handle cast(::proa::Place p, return_value_policy, handle) {
    return ::proa::python::WrapPlace(p);
  }
};

}  // namespace pybind11::detail

#endif  // PROA_PYTHON_CORE_CASTERS_H_
