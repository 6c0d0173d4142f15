// Gradients of late calls (late_call.h).
//
// The formulas of an op want its attributes as numbers, which nobody knows
// while the backward program is recorded. So the backward of a late call is one
// operation:
//
//   %8 = gradient([%3, %4], [%7], [0]) {call}
//
// Its region holds the call, with the same values where the numbers would
// stand; the arguments are what the call gave, the gradients that are known,
// and of which results they are; the region returns the values whose gradients
// are asked for. When it runs, the op's own node is hung on the results that
// were made (nothing is computed or drawn again) and asked for its formulas.
#include <algorithm>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "autograd/node.h"
#include "jit/control_flow.h"
#include "jit/late_call.h"
#include "jit/operation_call.h"
#include "jit/program.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "jit/region_op.h"
#include "ops/boxed_call.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

void AppendTensors(const Value& v, TensorList* out) {
  if (const auto* t = std::get_if<Tensor>(&v)) {
    out->push_back(*t);
  } else if (const auto* ts = std::get_if<TensorList>(&v)) {
    out->insert(out->end(), ts->begin(), ts->end());
  }
}

TensorList TensorsOf(std::span<const Value> values) {
  TensorList out;
  for (const Value& v : values) AppendTensors(v, &out);
  return out;
}

// The results of `op` as it gives them, from one list.
std::vector<Value> AsResults(const Operation& call, const TensorList& flat) {
  std::vector<Value> out;
  size_t at = 0;
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (call.op->outputs[i].is_list) {
      TensorList list;
      for (size_t k = 0; k < call.results[i].size(); ++k) {
        list.push_back(flat[at++].Alias());
      }
      out.emplace_back(std::move(list));
    } else {
      out.emplace_back(flat[at++].Alias());
    }
  }
  return out;
}

// The operation --------------------------------------------------------------

constexpr const char* kRegions[] = {"call"};
const ParamInfo kParams[] = {
    {"results", ParamType::kTensorList, false, nullptr, nullptr},
    {"gradients", ParamType::kTensorList, false, nullptr, nullptr},
    {"of", ParamType::kIntList, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

size_t CountOf(const Argument& a) {
  return std::get<std::vector<ValueRef>>(a).size();
}

absl::Status Counts(const Operation& o, std::span<RegionCounts> out) {
  out[0] = {0, o.results[0].size()};
  const auto refuse = [](const char* what) {
    return absl::InvalidArgumentError(what);
  };
  const auto& operations = o.regions[0]->operations;
  if (operations.size() != 1 || operations[0].op->regions != nullptr) {
    return refuse("the region of gradient must hold one call of an op");
  }
  size_t results = 0;
  for (const auto& ids : operations[0].results) results += ids.size();
  if (CountOf(o.args[0]) != results) {
    return refuse("gradient has other results than the call in its region");
  }
  const auto* value = std::get_if<Value>(&o.args[2]);
  const auto* of =
      value == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(value);
  if (of == nullptr || of->size() != CountOf(o.args[1]) ||
      std::ranges::any_of(*of, [&](int64_t i) {
        return i < 0 || i >= static_cast<int64_t>(results);
      })) {
    return refuse("gradient must say of which results its gradients are");
  }
  return absl::OkStatus();
}

void EvaluateGradient(const Program& program, const Operation& o,
                      Environment& env);

const RegionRules rules = {kRegions, &Counts, &EvaluateGradient,
                           /*differentiated=*/false,
                           /*fixed=*/true};
const OpDefinition definition = RegionOp(
    "gradient",
    "gradient(Tensor[] results, Tensor[] gradients, int[] of) {call} -> "
    "Tensor[] out",
    "The gradients of what the region returns through the call that it holds, "
    "which gave `results`; gradient k is that of result of[k].",
    kParams, kOutputs, &rules);
const OpDefinition* const kDefinitions[] = {&definition};
const OpRegistration registration(kDefinitions);

// A call, what it gave, and the gradients that are known of it.
struct BackwardCall {
  const OpDefinition* op;
  std::vector<Value> args;
  TensorList results, gradients;
  std::vector<int64_t> of;
  TensorList wanted;
};

TensorList Record(const BackwardCall& b,
                  const std::shared_ptr<Program>& program) {
  RegionRecorder recorder(definition, program);
  recorder.Argument(std::span<const Tensor>(b.results));
  recorder.Argument(std::span<const Tensor>(b.gradients));
  recorder.Attribute(b.of);
  recorder.Region({}, [&](const TensorList&) {
    std::vector<Value> unused(b.op->outputs.size());
    RecordLateCall(*b.op, b.args, unused);
    return b.wanted;
  });
  std::vector<TensorMeta> metas;
  for (const Tensor& t : b.wanted) metas.push_back(MetaOf(t));
  return recorder.Finish(metas, control_flow_grad.none);
}

// `leaves` stand for the wanted values among the arguments.
TensorList Compute(const Operation& call, std::span<const Value> args,
                   const BackwardCall& b, const TensorList& leaves) {
  const InterpreterScope grad =
      InterpreterScope::Allow(kDifferentiate | kRecord);
  const InterpreterScope plain = InterpreterScope::Forbid(kProfile | kAutocast);
  std::vector<Value> made(call.results.size());
  {
    const GivenResults given(*call.op, AsResults(call, b.results));
    CallBoxed(*call.op, args, made);
  }
  const TensorList results = TensorsOf(made);
  TensorList outputs, gradients;
  for (size_t k = 0; k < b.of.size(); ++k) {
    const Tensor& t = results[static_cast<size_t>(b.of[k])];
    if (!autograd::RequiresGrad(t)) continue;
    outputs.push_back(t);
    gradients.push_back(b.gradients[k]);
  }
  TensorList out(leaves.size());
  if (!outputs.empty()) {
    out = autograd::Grad(outputs, leaves, gradients, {}, /*allow_unused=*/true,
                         {});
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) out[i] = ZerosLike(leaves[i]);
  }
  return out;
}

void EvaluateGradient(const Program&, const Operation& o, Environment& env) {
  const Operation& call = o.regions[0]->operations[0];
  const std::vector<ValueId>& wanted = o.regions[0]->returns;
  BackwardCall b{call.op,
                 {},
                 ListArgument(o, 0, env),
                 ListArgument(o, 1, env),
                 std::get<std::vector<int64_t>>(std::get<Value>(o.args[2])),
                 {}};
  bool late = false;
  std::shared_ptr<Program> program;
  for (size_t i = 0; i < call.args.size(); ++i) {
    b.args.push_back(ArgumentValue(call.args[i], env));
    if (!IsTensorAttribute(call.op->params[i], b.args[i])) continue;
    const Tensor& t = std::get<Tensor>(b.args[i]);
    if (!t.is_symbolic()) continue;
    late = true;
    program = SymbolOf(t).program();
  }
  for (const ValueId id : wanted) b.wanted.push_back(env[id]);
  if (late) return StoreList(o, Record(b, program), env);

  // The wanted values, cut off from their history, for a moment.
  TensorList leaves;
  for (const ValueId id : wanted) {
    leaves.push_back(autograd::Detach(env[id]));
    autograd::SetRequiresGrad(leaves.back(), true);
    env[id] = leaves.back();
  }
  std::vector<Value> args;
  for (const Argument& a : call.args) args.push_back(ArgumentValue(a, env));
  for (size_t i = 0; i < wanted.size(); ++i) env[wanted[i]] = b.wanted[i];
  StoreList(o, Compute(call, args, b, leaves), env);
}

// The node -------------------------------------------------------------------

// Holds values, not the handles that named them: these may be rebound, and own
// the node.
class LateNode final : public autograd::Node {
 public:
  LateNode(std::shared_ptr<Program> program, const Operation& call,
           std::vector<ValueId> inputs)
      : program_(std::move(program)),
        op_(call.op),
        args_(call.args),
        inputs_(std::move(inputs)) {
    for (const auto& ids : call.results) {
      results_.insert(results_.end(), ids.begin(), ids.end());
    }
  }

  void Backward(std::span<const Tensor> grads,
                std::span<Tensor> input_grads) override {
    std::vector<size_t> wanted;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (needs_input_grad(static_cast<int>(i))) wanted.push_back(i);
    }
    BackwardCall b;
    b.op = op_;
    for (const Argument& a : args_) b.args.push_back(HandleOf(a));
    for (const ValueId id : results_) b.results.push_back(Handle(id));
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) continue;
      b.gradients.push_back(grads[i]);
      b.of.push_back(static_cast<int64_t>(i));
    }
    for (const size_t i : wanted) b.wanted.push_back(Handle(inputs_[i]));
    const TensorList out = Record(b, program_);
    for (size_t k = 0; k < wanted.size(); ++k) input_grads[wanted[k]] = out[k];
  }
  const char* name() const override { return op_->name; }

 private:
  Tensor Handle(ValueId id) const {
    return id == kNoValue ? Tensor() : MakeSymbolic(program_, id);
  }
  Value HandleOf(const Argument& a) const {
    if (const auto* ref = std::get_if<ValueRef>(&a)) return Handle(ref->id);
    if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
      TensorList list;
      for (ValueRef r : *refs) list.push_back(Handle(r.id));
      return list;
    }
    return std::get<Value>(a);
  }

  std::shared_ptr<Program> program_;
  const OpDefinition* op_;
  std::vector<Argument> args_;
  std::vector<ValueId> results_;
  std::vector<ValueId> inputs_;  // by edge
};

void Differentiate(const OpDefinition& op, std::span<const Value> args,
                   std::span<const Value> results) {
  if ((op.traits & kTraitDifferentiable) == 0) return;
  const TensorList made = TensorsOf(results);
  if (made.empty()) return;
  const std::shared_ptr<Program>& program = SymbolOf(made[0]).program();
  const Operation& call = CurrentBlock(*program).operations.back();
  // Each value that needs a gradient once, wherever it stands.
  TensorList tensors;
  std::vector<ValueId> inputs;
  const auto see = [&](const Tensor& t, ValueRef ref) {
    if (!t.defined() || !autograd::RequiresGrad(t)) return;
    if (std::ranges::find(inputs, ref.id) != inputs.end()) return;
    tensors.push_back(t);
    inputs.push_back(ref.id);
  };
  for (size_t i = 0; i < args.size(); ++i) {
    if (const auto* ts = std::get_if<TensorList>(&args[i])) {
      const auto& refs = std::get<std::vector<ValueRef>>(call.args[i]);
      for (size_t k = 0; k < ts->size(); ++k) see((*ts)[k], refs[k]);
    } else if (op.params[i].type == ParamType::kTensor &&
               std::holds_alternative<Tensor>(args[i])) {
      see(std::get<Tensor>(args[i]), std::get<ValueRef>(call.args[i]));
    }
  }
  if (inputs.empty()) return;
  const auto node =
      autograd::MakeNode<LateNode>(program, call, std::move(inputs));
  for (const Tensor& t : tensors) node->AddEdge(autograd::GradEdge(t));
  node->set_num_outputs(static_cast<int>(made.size()));
  for (size_t i = 0; i < made.size(); ++i) {
    if (IsDifferentiable(made[i].dtype())) {
      autograd::SetHistory(made[i], node, static_cast<uint32_t>(i));
    }
  }
}

const bool installed = [] {
  InstallLateCallGrad(&Differentiate);
  return true;
}();

}  // namespace
}  // namespace proa::inline v0::jit
