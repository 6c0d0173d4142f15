// Element types of tensors: the closed set, their properties, and a way from a
// run-time DType to a C++ type (`VisitDType`). The table in dtype.cc is the one
// place where a property of a type is written.
#ifndef PROA_TENSOR_DTYPE_H_
#define PROA_TENSOR_DTYPE_H_

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/bfloat16.h"
#include "tensor/float16.h"

namespace proa::inline v0 {

enum class DType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};
inline constexpr int kNumDTypes = 12;

// X(DType enumerator, C++ type, name, kind): the table of element types.
// `kind` orders categories for promotion: b(ool) < i(nteger) < f(loat) <
// c(omplex).
#define PROA_FOR_EACH_DTYPE(X)                       \
  X(kBool, bool, "bool", 'b')                        \
  X(kUInt8, uint8_t, "uint8", 'u')                   \
  X(kInt8, int8_t, "int8", 'i')                      \
  X(kInt16, int16_t, "int16", 'i')                   \
  X(kInt32, int32_t, "int32", 'i')                   \
  X(kInt64, int64_t, "int64", 'i')                   \
  X(kFloat16, ::proa::float16, "float16", 'f')       \
  X(kBFloat16, ::proa::bfloat16, "bfloat16", 'f')    \
  X(kFloat32, float, "float32", 'f')                 \
  X(kFloat64, double, "float64", 'f')                \
  X(kComplex64, ::proa::complex64, "complex64", 'c') \
  X(kComplex128, ::proa::complex128, "complex128", 'c')

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

struct DTypeInfo {
  std::string_view name;
  uint8_t item_size;  // bytes
  char kind;          // 'b', 'u', 'i', 'f' or 'c', as in NumPy
};

inline constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {
#define PROA_DTYPE_INFO(e, T, name, kind) {name, sizeof(T), kind},
    PROA_FOR_EACH_DTYPE(PROA_DTYPE_INFO)
#undef PROA_DTYPE_INFO
};

constexpr const DTypeInfo& Info(DType t) {
  return kDTypeInfo[static_cast<int>(t)];
}
constexpr std::string_view Name(DType t) { return Info(t).name; }
constexpr int64_t ItemSize(DType t) { return Info(t).item_size; }
constexpr bool IsFloat(DType t) { return Info(t).kind == 'f'; }
constexpr bool IsComplex(DType t) { return Info(t).kind == 'c'; }
constexpr bool IsInteger(DType t) {  // bool is not an integer
  return Info(t).kind == 'i' || Info(t).kind == 'u';
}
// True for the types that can carry gradients: floating point and complex.
constexpr bool IsDifferentiable(DType t) { return IsFloat(t) || IsComplex(t); }
// complex64 -> float32, complex128 -> float64, other types are themselves.
constexpr DType RealType(DType t) {
  return t == DType::kComplex64    ? DType::kFloat32
         : t == DType::kComplex128 ? DType::kFloat64
                                   : t;
}

// "float32" -> DType::kFloat32; nullopt if there is no such type.
std::optional<DType> ParseDType(std::string_view name);

template <typename T>
inline constexpr DType kDTypeOf = [] {
  static_assert(sizeof(T) == 0, "not an element type");
  return DType::kBool;
}();
#define PROA_DTYPE_OF(e, T, name, kind) \
  template <>                           \
  inline constexpr DType kDTypeOf<T> = DType::e;
PROA_FOR_EACH_DTYPE(PROA_DTYPE_OF)
#undef PROA_DTYPE_OF

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls `f(TypeTag<T>{})` with the C++ type of `t`.
template <typename F>
constexpr decltype(auto) VisitDType(DType t, F&& f) {
  switch (t) {
#define PROA_VISIT(e, T, name, kind) \
  case DType::e:                     \
    return f(TypeTag<T>{});
    PROA_FOR_EACH_DTYPE(PROA_VISIT)
#undef PROA_VISIT
  }
  __builtin_unreachable();
}

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_DTYPE_H_
