#include "jit/region_op.h"

#include <unordered_map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "jit/control_flow.h"
#include "jit/evaluate.h"
#include "jit/random_state.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "ops/creation/full_ops.h"
#include "ops/front_door.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

void RefuseCall(std::span<const Value>, std::span<Value>) {
  FailArgument(
      "an op with regions is called with functions, not by its name: see "
      "jit/control_flow.h, static.nn.cond and static.nn.while_loop");
}

// Each value once, by the first handle that requires a gradient if there is
// one.
std::vector<ValueUse> WithoutRepetitions(std::vector<ValueUse> uses) {
  std::vector<ValueUse> out;
  std::unordered_map<ValueId, size_t> seen;
  for (ValueUse& u : uses) {
    const auto [at, is_new] = seen.emplace(u.id, out.size());
    if (is_new) {
      out.push_back(std::move(u));
    } else if ((u.tensor.flags() & kDifferentiate) != 0 &&
               (out[at->second].tensor.flags() & kDifferentiate) == 0) {
      out[at->second] = std::move(u);
    }
  }
  return out;
}

std::string MetaText(const TensorMeta& m) {
  return absl::StrCat(
      ToString(m.shape), " ",
      absl::string_view(Name(m.dtype).data(), Name(m.dtype).size()));
}

}  // namespace

OpDefinition RegionOp(const char* name, const char* signature, const char* doc,
                      std::span<const ParamInfo> params,
                      std::span<const OutputInfo> outputs,
                      const RegionRules* rules) {
  OpDefinition op = {};
  op.name = name;
  op.version = 1;
  op.signature = signature;
  op.doc = doc;
  op.source = "jit";
  op.params = params;
  op.outputs = outputs;
  op.dtypes = ~uint32_t{0};
  op.call = &RefuseCall;
  op.regions = rules;
  return op;
}

void CheckPredicate(const char* op, const Tensor& t) {
  PROA_REQUIRE(t.defined(), op, ": the condition is None");
  if (t.dtype() != DType::kBool) {
    ThrowTypeError(absl::StrCat(op, ": the condition is ", Describe(t),
                                "; expected bool"));
  }
  PROA_REQUIRE(t.numel() == 1 || IsUnknown(t.numel()), op,
               ": the condition is ", Describe(t), "; expected one element");
}

void CheckDefined(const char* op, const TensorList& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) {
      ThrowTypeError(
          absl::StrCat(op, ": result ", i, " is None; expected Tensor"));
    }
  }
}

TensorMeta MetaOf(const Tensor& t) { return {t.shape(), t.dtype(), t.place()}; }

Tensor ZerosLike(const Tensor& t) {
  return ops::full(ops::ShapeOf(t), Scalar(int64_t{0}), t.dtype(), t.place());
}

TensorMeta Join(const char* op, size_t i, const TensorMeta& a,
                const TensorMeta& b) {
  PROA_REQUIRE(a.dtype == b.dtype && a.shape.rank() == b.shape.rank(), op,
               ": result ", i, " is ", MetaText(a), " on one way and ",
               MetaText(b), " on the other; dtypes and ranks must agree");
  TensorMeta joined = a;
  for (int d = 0; d < a.shape.rank(); ++d) {
    if (a.shape[d] != b.shape[d]) joined.shape[d] = kUnknownDim;
  }
  return joined;
}

bool HasTrait(const Block& block, uint32_t trait) {
  for (const Operation& o : block.operations) {
    if ((o.op->traits & trait) != 0) return true;
    for (const auto& region : o.regions) {
      if (HasTrait(*region, trait)) return true;
    }
  }
  return false;
}

RegionRecorder::RegionRecorder(const OpDefinition& op,
                               std::shared_ptr<Program> program) {
  recorded_.program = std::move(program);
  operation_.op = &op;
}

void RegionRecorder::Argument(const Tensor& t) {
  const ValueRef ref = RefTo(recorded_.program, t);
  operation_.args.emplace_back(ref);
  recorded_.args.push_back({ref.id, t});
}

void RegionRecorder::Argument(std::span<const Tensor> ts) {
  std::vector<ValueRef> refs;
  for (const Tensor& t : ts) {
    refs.push_back(RefTo(recorded_.program, t));
    recorded_.args.push_back({refs.back().id, t});
  }
  operation_.args.push_back(std::move(refs));
}

void RegionRecorder::Attribute(Value v) {
  operation_.args.emplace_back(std::move(v));
}

TensorList RegionRecorder::Region(
    std::span<const TensorMeta> arguments,
    const std::function<TensorList(const TensorList&)>& body) {
  Program& program = *recorded_.program;
  RegionScope region(recorded_.program);
  // The operation as a whole carries the gradient. The nodes of its parts only
  // tell which values have one, and go with their handles.
  const bool follow = operation_.op->regions->differentiated && GradEnabled() &&
                      control_flow_grad.argument != nullptr;
  if (follow) region.FollowGradients();
  const InterpreterScope scope = follow
                                     ? InterpreterScope::Allow(0)
                                     : InterpreterScope::Forbid(kDifferentiate);
  TensorList given;
  for (const TensorMeta& meta : arguments) {
    region.block().arguments.push_back(
        program.AddValue(ValueKind::kRegionArgument, meta));
    given.push_back(
        MakeSymbolic(recorded_.program, region.block().arguments.back()));
    if (follow && IsDifferentiable(meta.dtype)) {
      control_flow_grad.argument(given.back());
    }
  }
  TensorList returns = body(given);
  CheckDefined(operation_.op->name, returns);
  operation_.regions.push_back(region.Finish(returns));
  recorded_.reads.insert(recorded_.reads.end(), region.outer_uses().begin(),
                         region.outer_uses().end());
  return returns;
}

TensorList RegionRecorder::Finish(std::span<const TensorMeta> results,
                                  DifferentiateRegions differentiate) {
  const std::shared_ptr<Program> program = recorded_.program;
  recorded_.reads = WithoutRepetitions(std::move(recorded_.reads));
  bool random = false;
  for (const auto& region : operation_.regions) {
    recorded_.regions.push_back(region.get());
    random |= HasTrait(*region, kTraitRandom);
  }
  differentiate = GradEnabled() ? differentiate : nullptr;
  if (random && differentiate != nullptr) {
    recorded_.random_state = RecordRandomState(program);
  }
  TensorList out;
  operation_.results.emplace_back();
  for (const TensorMeta& meta : results) {
    operation_.results[0].push_back(
        program->AddValue(ValueKind::kResult, meta));
    out.push_back(MakeSymbolic(program, operation_.results[0].back()));
  }
  recorded_.results = operation_.results[0];
  CurrentBlock(*program).operations.push_back(std::move(operation_));
  if (differentiate != nullptr) differentiate(recorded_, out);
  return out;
}

std::function<TensorList(TensorList)> RegionFunction(const Program& program,
                                                     const Block& region,
                                                     Environment& env) {
  return [&program, &region, &env](TensorList arguments) {
    return EvaluateRegion(program, region, std::move(arguments), env);
  };
}

TensorList ListArgument(const Operation& o, size_t i, const Environment& env) {
  TensorList out;
  for (ValueRef r : std::get<std::vector<ValueRef>>(o.args[i])) {
    out.push_back(env[r.id]);
  }
  return out;
}

Tensor TensorArgument(const Operation& o, size_t i, const Environment& env) {
  const ValueRef ref = std::get<ValueRef>(o.args[i]);
  return ref.id == kNoValue ? Tensor() : env[ref.id];
}

void StoreList(const Operation& o, TensorList results, Environment& env) {
  PROA_REQUIRE(results.size() == o.results[0].size(), o.op->name, ": gave ",
               results.size(), " tensors; ", o.results[0].size(),
               " were recorded");
  for (size_t i = 0; i < results.size(); ++i) {
    env[o.results[0][i]] = std::move(results[i]);
  }
}

}  // namespace proa::inline v0::jit
