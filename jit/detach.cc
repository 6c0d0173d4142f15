#include "jit/detach.h"

#include <span>
#include <vector>

#include "ops/boxing.h"
#include "ops/interpreter.h"
#include "tensor/interpreters.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

void Call(std::span<const Value> args, std::span<Value> results) {
  ops::CheckCount("detach", 1, args, 1, results);
  const Tensor& x = ops::UnboxTensor("detach", "x", args[0]);
  const Interpreters active =
      ActiveInterpreters(x.flags()) & (kProfile | kRecord);
  if (active != 0) return Interpret(active, DetachOp(), args, results);
  Tensor out = x.Alias();
  out.impl()->is_view = false;
  results[0] = std::move(out);
}

void Infer(std::span<const Value> args,
           std::span<std::vector<TensorMeta>> results) {
  const Tensor& x = ops::UnboxTensor("detach", "x", args[0]);
  results[0].push_back({x.shape(), x.dtype(), x.place()});
}

const ParamInfo kParams[] = {
    {"x", ParamType::kTensor, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", false, -1}};

}  // namespace

const OpDefinition& DetachOp() {
  static const OpDefinition definition = {
      .name = "detach",
      .version = 1,
      .signature = "detach(Tensor x) -> Tensor out",
      .doc = "The same elements, where no gradient passes.",
      .source = "jit/detach.cc",
      .params = kParams,
      .outputs = kOutputs,
      .traits = 0,
      .amp = AmpClass::kKeep,
      .fuse = FuseClass::kNone,
      .dtypes = ~uint32_t{0},
      .call = &Call,
      .infer = &Infer,
      .kernels = nullptr,
      .flops = nullptr,
  };
  return definition;
}

namespace {

const OpDefinition* const kOps[] = {&DetachOp()};
const OpRegistration registration(kOps);

}  // namespace

}  // namespace proa::inline v0::jit
