#include "jit/operation_call.h"

#include <span>
#include <utility>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "ops/boxed_call.h"
#include "ops/definition.h"
#include "ops/value.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {

Value ArgumentValue(const Argument& a, const Environment& env) {
  if (const auto* ref = std::get_if<ValueRef>(&a)) {
    return ref->id == kNoValue ? Value() : Value(env[ref->id]);
  }
  if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
    std::vector<Tensor> list;
    list.reserve(refs->size());
    for (ValueRef r : *refs) list.push_back(env[r.id]);
    return Value(std::move(list));
  }
  return std::get<Value>(a);
}

namespace {

void Store(const Operation& o, size_t output, Value result, Environment& env) {
  const std::vector<ValueId>& ids = o.results[output];
  if (auto* t = std::get_if<Tensor>(&result)) {
    env[ids[0]] = std::move(*t);
    return;
  }
  auto& list = std::get<std::vector<Tensor>>(result);
  PROA_REQUIRE(list.size() == ids.size(), o.op->name, ": gave ", list.size(),
               " tensors; ", ids.size(), " were recorded");
  for (size_t i = 0; i < ids.size(); ++i) env[ids[i]] = std::move(list[i]);
}

}  // namespace

void CallOperation(const Operation& o, Environment& env) {
  absl::InlinedVector<Value, 8> args;
  for (const Argument& a : o.args) args.push_back(ArgumentValue(a, env));
  absl::InlinedVector<Value, 2> results(o.results.size());
  CallBoxed(*o.op, std::span<const Value>(args.data(), args.size()),
            std::span<Value>(results.data(), results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    Store(o, i, std::move(results[i]), env);
  }
}

}  // namespace proa::inline v0::jit
