#include "jit/executor.h"

#include "absl/strings/str_cat.h"
#include "jit/evaluate.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

// Calls f(id) for each value that an operation reads, those of its regions included.
template <typename F>
void ForEachUse(const Operation& o, const F& f) {
  for (const Argument& a : o.args) {
    if (const auto* ref = std::get_if<ValueRef>(&a)) {
      if (ref->id != kNoValue) f(ref->id);
    } else if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
      for (ValueRef r : *refs) f(r.id);
    }
  }
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) ForEachUse(inner, f);
    for (ValueId id : region->returns) f(id);
  }
}

bool ChangesTensors(const Operation& o) {
  if (o.op != nullptr && (o.op->traits & kTraitInplace) != 0) return true;
  for (const auto& region : o.regions) {
    for (const Operation& inner : region->operations) {
      if (ChangesTensors(inner)) return true;
    }
  }
  return false;
}

bool Fits(const Shape& declared, const Shape& given) {
  if (declared.rank() != given.rank()) return false;
  for (int i = 0; i < given.rank(); ++i) {
    if (declared[i] != kUnknownDim && declared[i] != given[i]) return false;
  }
  return true;
}

void CheckFeed(const ValueInfo& input, const Tensor& t) {
  PROA_REQUIRE(t.defined() && !t.is_symbolic(), "input '", input.name,
               "' needs a tensor with values");
  const TensorMeta& m = input.meta;
  if (t.dtype() != m.dtype) {
    ThrowTypeError(absl::StrCat(
        "input '", input.name, "' is ", Describe(t), "; expected ",
        absl::string_view(Name(m.dtype).data(), Name(m.dtype).size())));
  }
  PROA_REQUIRE(Fits(m.shape, t.shape()), "input '", input.name, "' is ",
               Describe(t), "; expected shape ", ToString(m.shape));
}

}  // namespace

struct Executor::Plan {
  std::shared_ptr<const Program> program;
  std::vector<ValueId> fetches;
  std::vector<bool> skip;
  ReleasePlan release;
  std::vector<bool> needed_input;  // by ValueId
};

Executor::Executor(std::shared_ptr<const Program> program,
                   std::vector<ValueId> fetches, bool prune) {
  auto plan = std::make_unique<Plan>();
  const Block& block = program->block();
  const size_t n = program->values().size();
  for (ValueId id : fetches) {
    PROA_REQUIRE(id >= 0 && id < static_cast<ValueId>(n),
                 "fetch %", id, " is no value of the program");
  }
  // Backwards: an operation is live if a later live one reads what it makes.
  std::vector<bool> live(n, false);
  for (ValueId id : fetches) live[id] = true;
  std::vector<bool> fetched = live;
  plan->skip.assign(block.operations.size(), false);
  plan->release.resize(block.operations.size());
  for (size_t i = block.operations.size(); i-- > 0;) {
    const Operation& o = block.operations[i];
    bool needed = !prune && ChangesTensors(o);
    for (const auto& ids : o.results) {
      for (ValueId id : ids) needed |= live[id];
    }
    if (!needed) {
      plan->skip[i] = true;
      continue;
    }
    // Seen first from the end: the last use (or an unused result).
    const auto last = [&](ValueId id) {
      if (live[id]) return;
      live[id] = true;
      if (program->value(id).kind != ValueKind::kCaptured) {
        plan->release[i].push_back(id);
      }
    };
    for (const auto& ids : o.results) {
      for (ValueId id : ids) last(id);
    }
    ForEachUse(o, last);
  }
  plan->needed_input = live;
  plan->program = std::move(program);
  plan->fetches = std::move(fetches);
  plan_ = std::move(plan);
}

Executor::~Executor() = default;

std::vector<Tensor> Executor::Run(
    std::span<const std::pair<ValueId, Tensor>> feeds) const {
  const Program& program = *plan_->program;
  Environment env = MakeEnvironment(program);
  for (const auto& [id, tensor] : feeds) {
    PROA_REQUIRE(id >= 0 && id < static_cast<ValueId>(env.size()) &&
                     program.value(id).kind == ValueKind::kInput,
                 "feed %", id, " is no input of the program");
    CheckFeed(program.value(id), tensor);
    env[id] = tensor;
  }
  for (ValueId id : program.inputs()) {
    PROA_REQUIRE(env[id].defined() || !plan_->needed_input[id], "input '",
                 program.value(id).name, "' is not fed");
  }
  const InterpreterScope scope =
      InterpreterScope::Forbid(kAllInterpreters & ~kProfile);
  Evaluate(program, program.block(), env, &plan_->skip, &plan_->release);
  std::vector<Tensor> out;
  out.reserve(plan_->fetches.size());
  for (ValueId id : plan_->fetches) out.push_back(env[id]);
  return out;
}

}  // namespace proa::inline v0::jit
