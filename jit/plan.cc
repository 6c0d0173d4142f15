#include "jit/plan.h"

#include <numeric>
#include <utility>

#include "jit/clone.h"
#include "jit/pass.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

void CheckMade(const Program& program, const std::vector<ValueId>& outputs) {
  std::vector<bool> made(program.values().size(), false);
  for (size_t i = 0; i < made.size(); ++i) {
    const ValueKind kind = program.values()[i].kind;
    made[i] = kind == ValueKind::kInput || kind == ValueKind::kCaptured;
  }
  for (const Operation& o : program.block().operations) {
    ForEachResult(o, [&](ValueId id) { made[id] = true; });
  }
  for (ValueId id : outputs) {
    PROA_REQUIRE(id >= 0 && id < static_cast<ValueId>(made.size()), "fetch %",
                 id, " is no value of the program");
    PROA_REQUIRE(made[id], "fetch %", id, " '", program.value(id).name,
                 "': the program does not make it; it is a value of a region, "
                 "or of training in a program for tests");
  }
}

// After the passes less may be needed: changes of what is no longer read.
bool EraseSkipped(const std::vector<bool>& skip, Block& block) {
  std::vector<Operation> left;
  for (size_t i = 0; i < skip.size(); ++i) {
    if (!skip[i]) left.push_back(std::move(block.operations[i]));
  }
  block.operations = std::move(left);
  return block.operations.size() != skip.size();
}

}  // namespace

Plan MakePlan(const Program& program, std::vector<ValueId> outputs,
              Changes changes) {
  return MakePlan(program, std::move(outputs), changes, DefaultPasses());
}

Plan MakePlan(const Program& program, std::vector<ValueId> outputs,
              Changes changes, std::span<const std::string_view> passes) {
  CheckMade(program, outputs);
  const Liveness needed = Analyze(program, outputs, changes);
  auto copy = std::make_shared<Program>();
  for (const ValueInfo& v : program.values()) copy->AddValue(v);
  std::vector<ValueId> ids(program.values().size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto& operations = program.block().operations;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (needed.skip[i]) continue;
    copy->block().operations.push_back(
        CopyOperation(program, operations[i], *copy, ids));
  }
  RunPasses(copy, outputs, passes);
  Plan plan;
  plan.liveness = Analyze(*copy, outputs, changes);
  if (EraseSkipped(plan.liveness.skip, copy->block())) {
    plan.liveness = Analyze(*copy, outputs, changes);
  }
  for (size_t i = 0; i < copy->values().size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!plan.liveness.live[i]) {
      // What a pass made of a parameter stands in its place; who does not need
      // the program that was given may let go of it.
      copy->value(id).captured = Tensor();
      continue;
    }
    if (copy->value(id).kind == ValueKind::kCaptured)
      plan.captured.push_back(id);
    if (copy->value(id).kind == ValueKind::kInput) plan.inputs.push_back(id);
  }
  plan.program = std::move(copy);
  plan.outputs = std::move(outputs);
  return plan;
}

}  // namespace proa::inline v0::jit
