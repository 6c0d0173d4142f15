// Scalar: one number whose type is only a category (bool, integer, float,
// complex), as a Python number is. Attributes of ops hold it; it becomes an
// element type where a kernel uses it:
//   Scalar s(2);  s.kind() == 'i';  s.to<float>() == 2.f;
#ifndef PROA_TENSOR_SCALAR_H_
#define PROA_TENSOR_SCALAR_H_

#include <complex>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "tensor/bfloat16.h"
#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace proa::inline v0 {

class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_same_v<T, float16> ||
           std::is_same_v<T, bfloat16>) Scalar(T v) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = 'b';
      i_ = v;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = 'i';
      i_ = static_cast<int64_t>(v);
    } else {
      kind_ = 'f';
      re_ = static_cast<double>(v);
    }
  }
  template <typename T>
  Scalar(std::complex<T> v) : kind_('c'), re_(v.real()), im_(v.imag()) {}

  // 'b', 'i', 'f' or 'c': the category, in the order of promotion.
  char kind() const { return kind_; }
  bool is_bool() const { return kind_ == 'b'; }
  bool is_integer() const { return kind_ == 'i'; }
  bool is_float() const { return kind_ == 'f'; }
  bool is_complex() const { return kind_ == 'c'; }

  // Converts as a C++ cast does, but never with undefined behaviour: integers
  // wrap, a float loses its fraction. Throws Error kInvalidArgument for a float
  // that no int64 holds (NaN, 1e30) and TypeError for a complex number with an
  // imaginary part as a real type.
  template <typename T>
  T to() const;

  // "True", "2", "2.5", "(1+2j)": as Python prints it.
  std::string ToString() const;

  // Equal kind and value; NaN equals NaN, so that attributes compare as keys.
  friend bool operator==(const Scalar& a, const Scalar& b);

 private:
  double RealPart(DType to) const;
  int64_t Integer(DType to) const;

  char kind_ = 'i';
  int64_t i_ = 0;  // 'b', 'i'
  double re_ = 0;  // 'f', 'c'
  double im_ = 0;  // 'c'
};

template <typename T>
T Scalar::to() const {
  if constexpr (std::is_same_v<T, bool>) {
    return kind_ == 'b' || kind_ == 'i' ? i_ != 0 : re_ != 0 || im_ != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (kind_ == 'b' || kind_ == 'i') return static_cast<T>(i_);
    return static_cast<T>(Integer(DType::kInt64));
  } else if constexpr (IsComplex(kDTypeOf<T>)) {
    using Real = typename T::value_type;
    if (kind_ == 'b' || kind_ == 'i') return T(static_cast<Real>(i_));
    return T(static_cast<Real>(re_), static_cast<Real>(im_));
  } else {
    if (kind_ == 'b' || kind_ == 'i') return static_cast<T>(i_);
    return static_cast<T>(RealPart(kDTypeOf<T>));
  }
}

inline std::string ToString(const Scalar& s) { return s.ToString(); }

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_SCALAR_H_
