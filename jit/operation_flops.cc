#include "jit/operation_flops.h"

#include <variant>

#include "ops/profile.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit {
namespace {

// A tensor of these sizes, without elements.
Tensor StandIn(const Program& program, ValueId id) {
  if (id == kNoValue) return {};
  const TensorMeta& meta = program.value(id).meta;
  if (meta.shape.numel() < 0) return {};
  return Tensor::Symbolic(meta.shape, meta.dtype);
}

Value ValueOf(const Program& program, const Argument& a) {
  if (const auto* ref = std::get_if<ValueRef>(&a)) {
    return StandIn(program, ref->id);
  }
  if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
    std::vector<Tensor> list;
    for (const ValueRef& r : *refs) list.push_back(StandIn(program, r.id));
    return list;
  }
  return std::get<Value>(a);
}

double FlopsOf(const Program& program, const Operation& o) {
  std::vector<Value> args, results;
  for (const Argument& a : o.args) args.push_back(ValueOf(program, a));
  for (const auto& ids : o.results) {
    for (ValueId id : ids) results.emplace_back(StandIn(program, id));
  }
  double flops = v0::FlopsOf(*o.op, args, results);
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) {
      flops += FlopsOf(program, inner);
    }
  }
  return flops;
}

}  // namespace

std::vector<double> FlopsOfOperations(const Program& program) {
  std::vector<double> flops;
  for (const Operation& o : program.block().operations) {
    flops.push_back(FlopsOf(program, o));
  }
  return flops;
}

}  // namespace proa::inline v0::jit
