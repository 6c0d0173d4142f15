// `side_by_side`: the two directions of a recurrent layer at the same time.
//
//   (%7, %8) = side_by_side([%0, %1, %2]) {
//     ...
//     %9, ... = rnn(...)
//     return %9
//   } {
//     %11, ... = rnn(..., reverse=true)
//     return %11
//   }
//
// A step of a recurrence is small, and waits for the one before: two threads
// that share each step mostly wait for each other. Each of them takes a
// direction instead. The elements are those of one thread, to the bit.
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "jit/effects.h"
#include "jit/evaluate.h"
#include "jit/pass.h"
#include "jit/region_op.h"
#include "tensor/execution.h"
#include "tensor/interpreters.h"
#include "tensor/interrupt.h"
#include "tensor/parallel.h"

namespace proa::inline v0::jit {
namespace {

constexpr const char* kRegions[] = {"first", "second"};
constexpr int kWays = std::size(kRegions);
const ParamInfo kParams[] = {
    {"inputs", ParamType::kTensorList, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

absl::Status Counts(const Operation& o, std::span<RegionCounts> out) {
  size_t given = 0;
  for (int i = 0; i < kWays; ++i) {
    out[i] = {std::get<std::vector<ValueRef>>(o.args[0]).size(),
              o.regions[i]->returns.size()};
    given += out[i].returns;
  }
  if (given != o.results[0].size()) {
    return absl::InvalidArgumentError(
        "side_by_side: the regions do not give as much as there are results");
  }
  return absl::OkStatus();
}

void EvaluateSideBySide(const Program& program, const Operation& o,
                        Environment& env) {
  const TensorList inputs = ListArgument(o, 0, env);
  Interpreters flags = 0;
  bool symbolic = false;
  for (const Tensor& t : inputs) {
    flags |= t.flags();
    symbolic |= t.is_symbolic();
  }
  std::array<TensorList, kWays> results;
  // More threads have more to win from each step. Who follows calls sees them
  // one by one.
  if (GetNumThreads() == kWays && !symbolic && !IsWatched() &&
      ActiveInterpreters(flags) == 0) {
    parallel_for(0, kWays, 1, [&](int64_t begin, int64_t end) {
      const InterpreterScope none = InterpreterScope::Forbid(kAllInterpreters);
      const WithoutInterruptChecks unasked;
      const ExecutionScope alone({.num_threads = 1});
      for (int64_t i = begin; i < end; ++i) {
        Environment own(program.values().size());
        results[i] = EvaluateRegion(program, *o.regions[i], inputs, own);
      }
    });
  } else {
    for (int i = 0; i < kWays; ++i) {
      results[i] = EvaluateRegion(program, *o.regions[i], inputs, env);
    }
  }
  TensorList all;
  for (TensorList& list : results) {
    for (Tensor& t : list) all.push_back(std::move(t));
  }
  StoreList(o, std::move(all), env);
}

const RegionRules rules = {kRegions, &Counts, &EvaluateSideBySide};
const OpDefinition definition = RegionOp(
    "side_by_side",
    "side_by_side(Tensor[] inputs) {first} {second} -> Tensor[] out",
    "What the first region gives, and what the second gives; where there are "
    "two threads, each computes one. Made by the pass side_by_side.",
    kParams, kOutputs, &rules);

const OpDefinition* const kDefinitions[] = {&definition};
const OpRegistration op_registration(kDefinitions);

class Pairing {
 public:
  explicit Pairing(Rewriter& r) : r_(r), recurrence_(FindOp("rnn")) {}

  void Visit(Block& block) {
    std::vector<std::pair<Operation*, Operation*>> pairs;
    Operation* open = nullptr;  // it may run where we are
    for (Operation& o : block.operations) {
      if (!HasFixedRegions(o)) {
        for (const auto& region : o.regions) Visit(*region);
      }
      if (open != nullptr && (IsUsedBy(*open, o) || ChangesTensors(o))) {
        open = nullptr;
      }
      if (!IsRecurrence(o)) continue;
      if (open != nullptr) {
        pairs.emplace_back(std::exchange(open, nullptr), &o);
      } else {
        open = &o;
      }
    }
    for (const auto& [first, second] : pairs) Join({first, second});
  }

 private:
  bool IsRecurrence(const Operation& o) const {
    if (recurrence_ == nullptr || o.op != recurrence_) return false;
    for (size_t i = 0; i < o.args.size(); ++i) {
      const auto* ref = std::get_if<ValueRef>(&o.args[i]);
      if (ref == nullptr) continue;
      const bool tensor = o.op->params[i].type == ParamType::kTensor;
      if (!tensor) return false;  // an attribute that is known late
      if (ref->id != kNoValue &&
          !r_.program().value(ref->id).meta.place.is_cpu()) {
        return false;
      }
    }
    return true;
  }

  static bool IsUsedBy(const Operation& maker, const Operation& o) {
    bool used = false;
    ForEachUse(o, [&](ValueId id) {
      ForEachResult(maker, [&](ValueId made) { used |= made == id; });
    });
    return used;
  }

  void Join(const std::array<const Operation*, kWays>& pair) {
    Program& program = r_.program();
    const Operation& last = *pair[kWays - 1];
    std::vector<ValueRef> inputs;
    std::unordered_map<ValueId, size_t> numbers;  // of inputs
    for (const Operation* o : pair) {
      ForEachUse(*o, [&](ValueId id) {
        if (numbers.emplace(id, inputs.size()).second) inputs.push_back({id});
      });
    }
    Operation joined;
    joined.op = &definition;
    joined.where = last.where;
    std::vector<ValueId> results;
    for (const Operation* o : pair) {
      auto body = std::make_unique<Block>();
      for (const ValueRef& input : inputs) {
        body->arguments.push_back(
            program.AddValue(ValueKind::kRegionArgument,
                             TensorMeta(program.value(input.id).meta)));
      }
      Operation copy;
      copy.op = o->op;
      copy.where = o->where;
      copy.args = o->args;
      for (Argument& a : copy.args) {
        auto* ref = std::get_if<ValueRef>(&a);
        if (ref == nullptr || ref->id == kNoValue) continue;
        ref->id = body->arguments[numbers.at(ref->id)];
      }
      for (const std::vector<ValueId>& ids : o->results) {
        copy.results.emplace_back();
        for (const ValueId made : ids) {
          const ValueId id = program.AddValue(
              ValueKind::kResult, TensorMeta(program.value(made).meta));
          copy.results.back().push_back(id);
          if (!r_.uses().is_used(made)) continue;
          results.push_back(made);
          body->returns.push_back(id);
        }
      }
      body->operations.push_back(std::move(copy));
      joined.regions.push_back(std::move(body));
    }
    joined.args.emplace_back(std::move(inputs));
    joined.results = {std::move(results)};
    r_.InsertBefore(last, std::move(joined));
    for (const Operation* o : pair) r_.Erase(*o);
  }

  Rewriter& r_;
  const OpDefinition* const recurrence_;
};

void Run(Rewriter& r) { Pairing(r).Visit(r.program().block()); }

const PassRegistration registration(
    {"side_by_side",
     "Recurrences that do not depend on each other, as one operation that "
     "computes them at the same time. For programs that predict.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
