#include "jit/executor.h"

#include "absl/strings/str_cat.h"
#include "jit/evaluate.h"
#include "jit/liveness.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

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
  Liveness liveness;
};

Executor::Executor(std::shared_ptr<const Program> program,
                   std::vector<ValueId> fetches, bool prune) {
  const auto n = static_cast<ValueId>(program->values().size());
  for (ValueId id : fetches) {
    PROA_REQUIRE(id >= 0 && id < n, "fetch %", id,
                 " is no value of the program");
  }
  auto plan = std::make_unique<Plan>();
  plan->liveness =
      Analyze(*program, fetches, prune ? Changes::kNone : Changes::kAll);
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
    PROA_REQUIRE(env[id].defined() || !plan_->liveness.live[id], "input '",
                 program.value(id).name, "' is not fed");
  }
  const InterpreterScope scope =
      InterpreterScope::Forbid(kAllInterpreters & ~kProfile);
  Evaluate(program, program.block(), env, &plan_->liveness.skip,
           &plan_->liveness.last_use);
  std::vector<Tensor> out;
  out.reserve(plan_->fetches.size());
  for (ValueId id : plan_->fetches) out.push_back(env[id]);
  return out;
}

}  // namespace proa::inline v0::jit
