#include "python/core/late_call.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/boxed_call.h"
#include "ops/definition.h"
#include "ops/front_door.h"
#include "ops/value.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/tensor_object.h"

namespace proa::inline v0::python {
namespace {

Value BoxNumber(const Signature& s, int i, const ParamInfo& p, PyObject* o) {
  if (Tensor late = FindLate(s, i, o); late.defined()) return late;
  switch (p.type) {
    case ParamType::kBool:
      return ToBool(s, i, o);
    case ParamType::kInt:
      return ToInt(s, i, o);
    case ParamType::kFloat:
      return ToFloat(s, i, o);
    case ParamType::kIntList: {
      const DimVector list = ToIntList(s, i, o);
      return std::vector<int64_t>(list.begin(), list.end());
    }
    case ParamType::kFloatList:
      return ToFloatList(s, i, o);
    default:
      return ToScalar(s, i, o);
  }
}

Value Box(const Signature& s, int i, const ParamInfo& p, PyObject* const* a) {
  PyObject* o = a[i];
  if (!Given(o) && (p.default_value != nullptr || p.optional)) {
    if (p.default_value == nullptr || (o != nullptr && p.optional)) {
      // A program writes an optional tensor that is not there as such.
      return p.type == ParamType::kTensor ? Value(Tensor()) : Value();
    }
    return p.default_value();
  }
  switch (p.type) {
    case ParamType::kTensor:
      return ToTensorArgument(s, i, a);
    case ParamType::kTensorList:
      return ToTensorList(s, i, o);
    case ParamType::kString:
      return std::string(ToString(s, i, o));
    case ParamType::kDType:
      return ToDType(s, i, o);
    case ParamType::kPlace:
      return ToPlace(s, i, o);
    case ParamType::kIntArray:
      return ToIntArray(s, i, o);
    default:
      return BoxNumber(s, i, p, o);
  }
}

PyObject* Unbox(Value value) {
  if (auto* list = std::get_if<std::vector<Tensor>>(&value)) {
    return Wrap(std::move(*list));
  }
  return Wrap(std::get<Tensor>(std::move(value)));
}

}  // namespace

PyObject* CallLate(const Signature& s, PyObject* const* a) {
  const OpDefinition* op = FindOp(s.op);
  const std::string_view name = s.op;
  const bool inplace =
      name.ends_with('_') && op != nullptr && op->infer == nullptr;
  if (inplace) op = FindOp(name.substr(0, name.size() - 1));
  if (op == nullptr || op->infer == nullptr) throw;
  std::vector<Value> args;
  for (int i = 0; i < s.num_params; ++i) {
    args.push_back(Box(s, i, op->params[i], a));
  }
  std::vector<Value> results(op->outputs.size());
  CallBoxed(*op, args, results);
  if (inplace) {
    const Tensor& x = std::get<Tensor>(args[0]);
    ops::RecordWrite(s.op, x, std::get<Tensor>(results[0]));
    return Wrap(x);
  }
  if (results.size() == 1) return Unbox(std::move(results[0]));
  const Ref out =
      Ref::New(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i) {
    PyTuple_SET_ITEM(out.get(), i, Check(Unbox(std::move(results[i]))));
  }
  return Py_NewRef(out.get());
}

}  // namespace proa::inline v0::python
