#include "ops/boxed_call.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/scalar.h"

namespace proa::inline v0 {
namespace {

constinit LateRecorder installed_recorder = nullptr;

thread_local constinit const OpDefinition* given_op = nullptr;
thread_local constinit std::span<const Value> given_args;

bool IsList(const ParamInfo& p) {
  return p.type == ParamType::kIntList || p.type == ParamType::kFloatList;
}

bool IsOfIntegers(const ParamInfo& p) {
  return p.type == ParamType::kInt || p.type == ParamType::kIntList;
}

// What stands for `p`: the elements of a tensor on the CPU, one after another.
template <typename T>
Value ElementsAs(const ParamInfo& p, const T* data, int64_t n) {
  if constexpr (IsComplex(kDTypeOf<T>)) {
    return Scalar(*data);
  } else {
    switch (p.type) {
      case ParamType::kBool:
        return static_cast<bool>(*data);
      case ParamType::kInt:
        return static_cast<int64_t>(*data);
      case ParamType::kFloat:
        return static_cast<double>(*data);
      case ParamType::kIntList: {
        std::vector<int64_t> out(n);
        for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(data[i]);
        return out;
      }
      case ParamType::kFloatList: {
        std::vector<double> out(n);
        for (int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(data[i]);
        return out;
      }
      default:
        return Scalar(*data);
    }
  }
}

Value Read(const char* op, const ParamInfo& p, const Tensor& t) {
  CheckTensorAttribute(op, p, {t.shape(), t.dtype(), t.place()});
  const Tensor flat =
      Contiguous(t.place().is_cpu() ? t : CopyTo(t, Place{}, true));
  return VisitDType(t.dtype(), [&]<typename T>(TypeTag<T>) -> Value {
    return ElementsAs<T>(p, flat.template data<T>(), flat.numel());
  });
}

}  // namespace

bool MayBeLate(const ParamInfo& p) {
  switch (p.type) {
    case ParamType::kBool:
    case ParamType::kInt:
    case ParamType::kFloat:
    case ParamType::kIntList:
    case ParamType::kFloatList:
    case ParamType::kScalar:
      return true;
    default:
      return false;
  }
}

void CheckTensorAttribute(const char* op, const ParamInfo& p,
                          const TensorMeta& t) {
  const bool shape_fits = IsList(p)
                              ? t.shape.rank() <= 1
                              : std::ranges::all_of(t.shape, [](int64_t d) {
                                  return d == 1 || IsUnknown(d);
                                });
  const bool kind_fits =
      IsOfIntegers(p) ? IsInteger(t.dtype) || t.dtype == DType::kBool
                      : p.type == ParamType::kScalar || !IsComplex(t.dtype);
  if (MayBeLate(p) && shape_fits && kind_fits) return;
  ThrowTypeError(absl::StrCat(
      op, ": ", p.name, " must be ", IsList(p) ? "a list of " : "one ",
      IsOfIntegers(p) ? "integer" : "number", IsList(p) ? "s" : "",
      "; it is a tensor ", ToString(t.shape), " ",
      absl::string_view(Name(t.dtype).data(), Name(t.dtype).size())));
}

void InstallLateRecorder(LateRecorder record) { installed_recorder = record; }

void CallBoxed(const OpDefinition& op, std::span<const Value> args,
               std::span<Value> results) {
  bool any = false, late = false;
  for (size_t i = 0; i < std::min(args.size(), op.params.size()); ++i) {
    if (!IsTensorAttribute(op.params[i], args[i])) continue;
    any = true;
    const Tensor& t = std::get<Tensor>(args[i]);
    late |= t.defined() && t.is_symbolic();
  }
  if (!any) [[likely]]
    return op.call(args, results);
  std::vector<Value> read(args.begin(), args.end());
  for (size_t i = 0; i < read.size(); ++i) {
    if (!IsTensorAttribute(op.params[i], read[i])) continue;
    const Tensor t = std::get<Tensor>(read[i]);
    if (!t.defined()) {
      read[i] = Value();
    } else if (!t.is_symbolic()) {
      read[i] = Read(op.name, op.params[i], t);
    }
  }
  if (!late) return op.call(read, results);
  PROA_REQUIRE(installed_recorder != nullptr, op.name,
               ": an attribute is symbolic, but this program cannot record "
               "(//jit is not linked in)");
  installed_recorder(op, read, results);
}

GivenScope::GivenScope(const OpDefinition& op, std::span<const Value> args)
    : op_before_(std::exchange(given_op, &op)),
      args_before_(std::exchange(given_args, args)) {}

GivenScope::~GivenScope() {
  given_op = op_before_;
  given_args = args_before_;
}

bool IsGiven(const char* op, const Tensor& t, const Shape& shape, DType dtype,
             Place place) {
  if (given_op == nullptr || std::string_view(given_op->name) != op ||
      !t.defined() || t.dtype() != dtype || t.place() != place ||
      t.shape() != shape || t.is_view() || t.flags() != 0 || !t.storage() ||
      t.storage()->use_count() != 1 || t.storage()->read_only() ||
      t.storage()->bytes() != t.bytes()) {
    return false;
  }
  // The one argument holds it, and `t` itself where that is a copy.
  int holders = 0;
  bool itself = false;
  for (const Value& v : given_args) {
    const auto* argument = std::get_if<Tensor>(&v);
    if (argument == nullptr || !argument->is_same(t)) continue;
    ++holders;
    itself |= argument == &t;
  }
  return holders == 1 && t.impl()->use_count() == (itself ? 1 : 2);
}

}  // namespace proa::inline v0
