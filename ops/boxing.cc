#include "ops/boxing.h"

#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

[[noreturn]] __attribute__((noinline, cold)) void FailKind(
    const char* op, const char* param, const Value& v, const char* expected) {
  ThrowTypeError(absl::StrCat(op, ": ", param, " is ", ToString(v),
                              "; expected ", expected));
}

template <typename T>
const T& Get(const char* op, const char* param, const Value& v,
             const char* expected) {
  if (const T* p = std::get_if<T>(&v)) return *p;
  FailKind(op, param, v, expected);
}

}  // namespace

const Tensor& UnboxTensor(const char* op, const char* param, const Value& v) {
  return Get<Tensor>(op, param, v, "Tensor");
}

Tensor UnboxOptionalTensor(const char* op, const char* param, const Value& v) {
  if (std::holds_alternative<std::monostate>(v)) return Tensor();
  return Get<Tensor>(op, param, v, "Tensor or None");
}

std::span<const Tensor> UnboxTensorList(const char* op, const char* param,
                                        const Value& v) {
  return Get<std::vector<Tensor>>(op, param, v, "list of Tensor");
}

bool UnboxBool(const char* op, const char* param, const Value& v) {
  return Get<bool>(op, param, v, "bool");
}

int64_t UnboxInt(const char* op, const char* param, const Value& v) {
  return Get<int64_t>(op, param, v, "int");
}

double UnboxFloat(const char* op, const char* param, const Value& v) {
  if (const int64_t* i = std::get_if<int64_t>(&v))
    return static_cast<double>(*i);
  return Get<double>(op, param, v, "float");
}

std::string_view UnboxString(const char* op, const char* param,
                             const Value& v) {
  return Get<std::string>(op, param, v, "str");
}

std::span<const int64_t> UnboxIntList(const char* op, const char* param,
                                      const Value& v) {
  if (std::holds_alternative<std::monostate>(v)) return {};
  return Get<std::vector<int64_t>>(op, param, v, "list of int");
}

std::span<const double> UnboxFloatList(const char* op, const char* param,
                                       const Value& v) {
  if (std::holds_alternative<std::monostate>(v)) return {};
  return Get<std::vector<double>>(op, param, v, "list of float");
}

IntArray UnboxIntArray(const char* op, const char* param, const Value& v) {
  if (const auto* list = std::get_if<std::vector<int64_t>>(&v)) {
    return IntArray(*list);
  }
  if (const auto* t = std::get_if<Tensor>(&v)) return IntArray(*t);
  if (std::holds_alternative<std::monostate>(v)) return IntArray();
  return Get<IntArray>(op, param, v, "list of int or integer Tensor");
}

Scalar UnboxScalar(const char* op, const char* param, const Value& v) {
  if (const auto* b = std::get_if<bool>(&v)) return Scalar(*b);
  if (const auto* i = std::get_if<int64_t>(&v)) return Scalar(*i);
  if (const auto* d = std::get_if<double>(&v)) return Scalar(*d);
  return Get<Scalar>(op, param, v, "a number");
}

DType UnboxDType(const char* op, const char* param, const Value& v) {
  return Get<DType>(op, param, v, "dtype");
}

Place UnboxPlace(const char* op, const char* param, const Value& v) {
  return Get<Place>(op, param, v, "place");
}

void CheckCount(const char* op, size_t want, std::span<const Value> args) {
  PROA_REQUIRE(args.size() == want, op, ": takes ", want, " arguments, ",
               args.size(), " given");
}

void CheckCount(const char* op, size_t want, std::span<const Value> args,
                size_t outputs, std::span<Value> results) {
  CheckCount(op, want, args);
  PROA_REQUIRE(results.size() == outputs, op, ": gives ", outputs,
               " results, room for ", results.size());
}

void InferPlace(const Tensor& t, Place* place, bool* found) {
  if (t.defined() && (!*found || place->is_cpu())) {
    *place = t.place();
    *found = true;
  }
}

void SetMeta(const Shape& shape, DType dtype, Place place,
             std::vector<TensorMeta>* out) {
  out->assign(1, TensorMeta{shape, dtype, place});
}

void SetMeta(const std::vector<Shape>& shapes, DType dtype, Place place,
             std::vector<TensorMeta>* out) {
  out->clear();
  for (const Shape& s : shapes) out->push_back(TensorMeta{s, dtype, place});
}

}  // namespace proa::inline v0::ops
