// Unpacking of boxed arguments, for generated definitions. Each Unbox throws
// TypeError "multiply: y is 'same' (str); expected Tensor" when a Value has the
// wrong alternative; integers pass where floats are wanted, lists of integers
// where an IntArray is wanted, None as an empty list.
#ifndef PROA_OPS_BOXING_H_
#define PROA_OPS_BOXING_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/value.h"

namespace proa::inline v0::ops {

const Tensor& UnboxTensor(const char* op, const char* param, const Value& v);
Tensor UnboxOptionalTensor(const char* op, const char* param, const Value& v);
std::span<const Tensor> UnboxTensorList(const char* op, const char* param,
                                        const Value& v);
bool UnboxBool(const char* op, const char* param, const Value& v);
int64_t UnboxInt(const char* op, const char* param, const Value& v);
double UnboxFloat(const char* op, const char* param, const Value& v);
std::string_view UnboxString(const char* op, const char* param, const Value& v);
std::span<const int64_t> UnboxIntList(const char* op, const char* param,
                                      const Value& v);
std::span<const double> UnboxFloatList(const char* op, const char* param,
                                       const Value& v);
IntArray UnboxIntArray(const char* op, const char* param, const Value& v);
Scalar UnboxScalar(const char* op, const char* param, const Value& v);
DType UnboxDType(const char* op, const char* param, const Value& v);
Place UnboxPlace(const char* op, const char* param, const Value& v);

#define PROA_UNBOX_OPTIONAL(Name, T)                                    \
  inline std::optional<T> UnboxOptional##Name(                          \
      const char* op, const char* param, const Value& v) {              \
    if (std::holds_alternative<std::monostate>(v)) return std::nullopt; \
    return Unbox##Name(op, param, v);                                   \
  }
PROA_UNBOX_OPTIONAL(Bool, bool)
PROA_UNBOX_OPTIONAL(Int, int64_t)
PROA_UNBOX_OPTIONAL(Float, double)
PROA_UNBOX_OPTIONAL(Scalar, Scalar)
PROA_UNBOX_OPTIONAL(DType, DType)
PROA_UNBOX_OPTIONAL(Place, Place)
#undef PROA_UNBOX_OPTIONAL

void CheckCount(const char* op, size_t want, std::span<const Value> args);
void CheckCount(const char* op, size_t want, std::span<const Value> args,
                size_t outputs, std::span<Value> results);

// For boxed inference: as MergePlace, without the error (a call reports it).
void InferPlace(const Tensor& t, Place* place, bool* found);
void SetMeta(const Shape& shape, DType dtype, Place place,
             std::vector<TensorMeta>* out);
void SetMeta(const std::vector<Shape>& shapes, DType dtype, Place place,
             std::vector<TensorMeta>* out);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_BOXING_H_
