// Value: one argument or result of an op call in boxed form, as interpreters,
// programs and bindings that know no particular op handle it.
#ifndef PROA_OPS_VALUE_H_
#define PROA_OPS_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ops/int_array.h"
#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {

// The parameter types of the schema language (ops/schema/param_types.py).
enum class ParamType : uint8_t {
  kTensor,      // const Tensor&; `Tensor?` may be undefined
  kTensorList,  // std::span<const Tensor>
  kBool,
  kInt,
  kFloat,
  kString,     // std::string_view
  kIntList,    // std::span<const int64_t>
  kFloatList,  // std::span<const double>
  kIntArray,   // const IntArray&
  kScalar,     // const Scalar&
  kDType,
  kPlace,
};

// std::monostate is None. An undefined Tensor is None too.
using Value = std::variant<std::monostate, Tensor, std::vector<Tensor>, bool,
                           int64_t, double, std::string, std::vector<int64_t>,
                           std::vector<double>, IntArray, Scalar, DType, Place>;

// "[2, 3] float32", "3", "[1, 2]", "'same'": for messages and program text.
std::string ToString(const Value& v);

}  // namespace proa::inline v0

#endif  // PROA_OPS_VALUE_H_
